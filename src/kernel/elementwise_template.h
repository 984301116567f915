/* elementwise_template.h: the loops of elementwise.c, once per number type (variants.h). */

/* ---- two operands: steps are 0 or 1 elements; both 1, or one of them 0 ---- */

#define BINARY_LOOP(name, formula)                                                                 \
    static VARIANT_TARGET void VARIANT(pairs_##name)(const real *a, int64_t a_step, const real *b, \
                                                     int64_t b_step, real *out, int64_t n)         \
    {                                                                                              \
        if (a_step != 0 && b_step != 0) {                                                          \
            INDEPENDENT for (int64_t i = 0; i < n; i++)                                            \
            {                                                                                      \
                const real x = a[i], y = b[i];                                                     \
                out[i] = formula;                                                                  \
            }                                                                                      \
        } else if (a_step != 0) {                                                                  \
            const real y = b[0];                                                                   \
            INDEPENDENT for (int64_t i = 0; i < n; i++)                                            \
            {                                                                                      \
                const real x = a[i];                                                               \
                out[i] = formula;                                                                  \
            }                                                                                      \
        } else {                                                                                   \
            const real x = a[0];                                                                   \
            INDEPENDENT for (int64_t i = 0; i < n; i++)                                            \
            {                                                                                      \
                const real y = b[i * b_step];                                                      \
                out[i] = formula;                                                                  \
            }                                                                                      \
        }                                                                                          \
    }
FR_BINARY_LIST(BINARY_LOOP)
#undef BINARY_LOOP

static VARIANT_TARGET void VARIANT(binary_tiles)(void *context, int64_t begin, int64_t end,
                                                 int thread)
{
    (void)thread;
    static void (*const rows[])(const real *, int64_t, const real *, int64_t, real *, int64_t) = {
#define BINARY_ROW(name, formula) VARIANT(pairs_##name),
        FR_BINARY_LIST(BINARY_ROW)
#undef BINARY_ROW
    };
    const broadcast_call *call = context;
    for (int64_t piece = begin; piece < end; piece++) {
        piece_place at;
        place_piece(call, piece, &at);
        rows[call->kind]((const real *)call->operands[0] + at.offset[0], at.step[0],
                         (const real *)call->operands[1] + at.offset[1], at.step[1],
                         (real *)call->out + at.out, at.n);
    }
}

static VARIANT_TARGET void VARIANT(chosen_tiles)(void *context, int64_t begin, int64_t end,
                                                 int thread)
{
    (void)thread;
    const broadcast_call *call = context;
    const real sign = call->smaller ? -1 : 1;
    for (int64_t piece = begin; piece < end; piece++) {
        piece_place at;
        place_piece(call, piece, &at);
        const real *a = (const real *)call->operands[0] + at.offset[0];
        const real *b = (const real *)call->operands[1] + at.offset[1];
        const real *dy = (const real *)call->operands[2] + at.offset[2];
        real *out = (real *)call->out + at.out;
        for (int64_t i = 0; i < at.n; i++) {
            const bool first = a[i * at.step[0]] * sign >= b[i * at.step[1]] * sign;
            out[i] = fr_choose(first != call->other, dy[i * at.step[2]], (real)0);
        }
    }
}

/* ---- one operand ---- */

#define UNARY_LOOPS(name, formula, gradient)                                                       \
    static VARIANT_TARGET void VARIANT(map_##name)(const real *from, real *to, int64_t n, real a)  \
    {                                                                                              \
        (void)a;                                                                                   \
        INDEPENDENT for (int64_t i = 0; i < n; i++)                                                \
        {                                                                                          \
            const real x = from[i];                                                                \
            to[i] = formula;                                                                       \
        }                                                                                          \
    }                                                                                              \
    static VARIANT_TARGET void VARIANT(gradient_##name)(const real *source, const real *grad,      \
                                                        real *to, int64_t n, real a)               \
    {                                                                                              \
        (void)a;                                                                                   \
        INDEPENDENT for (int64_t i = 0; i < n; i++)                                                \
        {                                                                                          \
            const real s = source[i], dy = grad[i];                                                \
            (void)s;                                                                               \
            to[i] = gradient;                                                                      \
        }                                                                                          \
    }
FR_UNARY_LIST(UNARY_LOOPS)
#undef UNARY_LOOPS

static VARIANT_TARGET void VARIANT(map_tiles)(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    static void (*const maps[])(const real *, real *, int64_t, real) = {
#define UNARY_MAP(name, formula, gradient) VARIANT(map_##name),
        FR_UNARY_LIST(UNARY_MAP)
#undef UNARY_MAP
    };
    static void (*const gradients[])(const real *, const real *, real *, int64_t, real) = {
#define UNARY_GRADIENT(name, formula, gradient) VARIANT(gradient_##name),
        FR_UNARY_LIST(UNARY_GRADIENT)
#undef UNARY_GRADIENT
    };
    const map_call *call = context;
    const real *x = (const real *)call->x + begin;
    if (call->dy == NULL)
        maps[call->kind](x, (real *)call->out + begin, end - begin, (real)call->a);
    else
        gradients[call->kind](x, (const real *)call->dy + begin, (real *)call->out + begin,
                              end - begin, (real)call->a);
}

static VARIANT_TARGET void VARIANT(fill_tiles)(void *context, int64_t begin, int64_t end,
                                               int thread)
{
    (void)thread;
    const map_call *call = context;
    const real value = (real)call->a;
    real *out = call->out;
    for (int64_t i = begin; i < end; i++)
        out[i] = value;
}
