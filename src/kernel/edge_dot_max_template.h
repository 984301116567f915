/* edge_dot_max_template.h: the loop of edge_dot_max.c, once per number type (variants.h). */

static VARIANT_TARGET void VARIANT(edge_dot_max)(void *context, int64_t begin, int64_t end,
                                                 int thread)
{
    (void)thread;
    const edge_dot_max_call *call = context;
    const int64_t columns = call->heads * call->width;
    const real *x = call->x;
    real *score = call->score;
    for (int64_t i = begin; i < end; i++) {
        const real *dy = (const real *)call->dy + i * columns;
        const int32_t *argmax = call->argmax + i * columns;
        for (int64_t j = 0; j < columns; j++) {
            const int64_t e = argmax[j];
            if (e >= call->rows.begin[i] && e < call->rows.end[i])
                score[e * call->heads + j / call->width] +=
                    dy[j] * x[call->rows.source[e] * columns + j];
        }
    }
}
