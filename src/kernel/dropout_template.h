/* dropout_template.h: the loop of dropout.c, once per number type (variants.h). */

static VARIANT_TARGET void VARIANT(dropout_blocks)(void *context, int64_t begin, int64_t end,
                                                   int thread)
{
    (void)thread;
    const dropout_call *call = context;
    const real scale = (real)(1 / (1 - call->mask.ratio));
    const uint32_t threshold = call->threshold;
    for (int64_t block = begin; block < end; block++) {
        dropout_draws draws;
        call->draw(&call->mask, block, draws.words);
        const uint16_t *draw = draws.halves;
        const int64_t first = block * DROPOUT_BLOCK;
        const int64_t left = call->n - first, n = left < DROPOUT_BLOCK ? left : DROPOUT_BLOCK;
        const real *x = (const real *)call->x + first;
        real *out = (real *)call->out + first;
        if (n == DROPOUT_BLOCK)
            for (int i = 0; i < DROPOUT_BLOCK; i++)
                out[i] = fr_choose(draw[i] >= threshold, x[i] * scale, (real)0);
        else
            for (int64_t i = 0; i < n; i++)
                out[i] = draw[i] >= threshold ? x[i] * scale : 0;
    }
}
