/*
 * onednn.c: calls of oneDNN's C API, versions 2 and 3.
 *
 * sgemm runs on the calling thread alone: the thread's OpenMP width is set to 1 and put back, which
 * costs two stores; without it oneDNN would open a parallel region where the caller is in none.
 *
 * A convolution is prepared once per shape: its primitive chooses layouts, operands that lie in the
 * plain layout are reordered into buffers kept beside it. Left alone, oneDNN cuts some sums by
 * thread (weight gradients over images, products behind grouped convolutions over channels). So the
 * work is cut here, along a dimension of the result and by shape alone, into pieces that run the
 * same one-thread primitive on slices of the tensors. Nothing is added across pieces. A result with
 * neither images, groups nor 32 channels to cut stays on one thread.
 *
 *     a piece:  operand a: plain -> reorder -> own layout \
 *                operand b: plain -> reorder -> own layout  > primitive -> own layout -> reorder ->
 * plain
 */
#include "kernel/onednn.h"

#include <inttypes.h>
#include <string.h>
#if defined(_OPENMP)
#include <omp.h>
#endif

#include "base/alloc.h"
#include "base/parallel.h"
#include "kernel/onednn_version.h"

/* Makes oneDNN use `wanted` threads when called from here; returns how many it was before. */
static int use_threads(int wanted)
{
#if defined(_OPENMP)
    const int before = omp_get_max_threads();
    if (before != wanted)
        omp_set_num_threads(wanted);
    return before;
#else
    return wanted;
#endif
}

/* A oneDNN failure as one of ours. */
static fr_status onednn_failed(dnnl_status_t code, const char *what)
{
    if (code == dnnl_out_of_memory)
        return fr_fail(FR_ENOMEM, "%s: oneDNN ran out of memory", what);
    if (code == dnnl_unimplemented)
        return fr_fail(FR_ENOTSUP, "%s: oneDNN has no implementation for these sizes", what);
    return fr_fail(FR_EINTERNAL, "%s: oneDNN returned status %d", what, (int)code);
}

fr_status fr_onednn_sgemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                          float alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
                          float beta, float *c, int64_t ldc)
{
    const int before = use_threads(1);
    const dnnl_status_t code = dnnl_sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', m, n, k,
                                          alpha, a, lda, b, ldb, beta, c, ldc);
    (void)use_threads(before);
    if (code != dnnl_success)
        return onednn_failed(code, "matrix product");
    return FR_OK;
}

/* ---- convolution ---- */

enum { PIECES_MOST = 16, CHANNELS_LEAST = 16 /* of a piece: one vector */ };

#define TRY_DNNL(call)                                                                             \
    do {                                                                                           \
        const dnnl_status_t code_ = (call);                                                        \
        if (code_ != dnnl_success)                                                                 \
            return onednn_failed(code_, "convolution");                                            \
    } while (0)

/* One operand of one piece: the caller's plain memory and, where the primitive wants another
 * layout, a buffer in that layout with the reorder between them. */
typedef struct operand {
    dnnl_memory_t plain, own; /* own == plain where the layouts are equal */
    dnnl_primitive_t reorder;
    void *buffer;
    int64_t offset; /* of the piece within the caller's tensor */
} operand;

typedef struct piece {
    operand a, b, result;
    dnnl_memory_t bias, scratch;
    void *scratch_bytes;
} piece;

/* Along what the result is cut. */
typedef enum cut_along { CUT_IMAGES, CUT_GROUPS, CUT_FILTERS, CUT_CHANNELS } cut_along;

typedef struct prepared_convolution {
    fr_convolution shape;
    fr_convolution_kind kind;
    bool with_bias;
    cut_along cut;
    int n_pieces;
    int threads; /* of the reorders */
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_t primitive;
    piece pieces[PIECES_MOST];
    fr_status status; /* of the pieces that ran, where not FR_OK */
} prepared_convolution;

static void release_operand(operand *o)
{
    if (o->own != NULL && o->own != o->plain)
        (void)dnnl_memory_destroy(o->own);
    if (o->plain != NULL)
        (void)dnnl_memory_destroy(o->plain);
    if (o->reorder != NULL)
        (void)dnnl_primitive_destroy(o->reorder);
    fr_free(o->buffer);
}

void fr_onednn_convolution_release(void *prepared)
{
    prepared_convolution *p = prepared;
    if (p == NULL)
        return;
    for (int i = 0; i < p->n_pieces; i++) {
        release_operand(&p->pieces[i].a);
        release_operand(&p->pieces[i].b);
        release_operand(&p->pieces[i].result);
        if (p->pieces[i].bias != NULL)
            (void)dnnl_memory_destroy(p->pieces[i].bias);
        if (p->pieces[i].scratch != NULL)
            (void)dnnl_memory_destroy(p->pieces[i].scratch);
        fr_free(p->pieces[i].scratch_bytes);
    }
    if (p->primitive != NULL)
        (void)dnnl_primitive_destroy(p->primitive);
    if (p->stream != NULL)
        (void)dnnl_stream_destroy(p->stream);
    if (p->engine != NULL)
        (void)dnnl_engine_destroy(p->engine);
    fr_free(p);
}

/* A tensor in the plain layout, perhaps a slice of a larger one. */
typedef struct plain_tensor {
    int rank;
    dnnl_dims_t sizes, strides;
    int64_t slice; /* elements between the slices of consecutive pieces */
} plain_tensor;

/* What one piece has of each dimension. */
typedef struct share {
    int64_t n, groups, filters, c;
} share;

static share share_of(const fr_convolution *c, cut_along cut, int n_pieces)
{
    const bool grouped = cut == CUT_GROUPS;
    return (share){.n = cut == CUT_IMAGES ? c->n / n_pieces : c->n,
                   .groups = grouped ? c->groups / n_pieces : c->groups,
                   .filters = grouped || cut == CUT_FILTERS ? c->filters / n_pieces : c->filters,
                   .c = grouped || cut == CUT_CHANNELS ? c->c / n_pieces : c->c};
}

/* [n, channels, spatial...] of a piece, out of `all` channels. */
static plain_tensor image_tensor(const fr_convolution *c, int64_t n, int64_t channels, int64_t all,
                                 const int64_t *spatial)
{
    plain_tensor t = {.rank = c->rank + 2};
    int64_t step = 1;
    for (int d = c->rank - 1; d >= 0; d--) {
        t.sizes[2 + d] = spatial[d];
        t.strides[2 + d] = step;
        step *= spatial[d];
    }
    t.sizes[0] = n;
    t.sizes[1] = channels;
    t.strides[0] = all * step;
    t.strides[1] = step;
    t.slice = (n != c->n ? n * all * step : 0) + (channels != all ? channels * step : 0);
    return t;
}

/* [groups, filters, channels, kernel...] of a piece, without the first where there is one group. */
static plain_tensor weight_tensor(const fr_convolution *c, const share *s)
{
    plain_tensor t = {.rank = 0};
    int64_t cells = 1;
    for (int d = 0; d < c->rank; d++)
        cells *= c->kernel[d];
    const int64_t filter = c->c / c->groups * cells; /* elements of one filter */
    if (c->groups > 1) {
        t.sizes[t.rank] = s->groups;
        t.strides[t.rank++] = c->filters / c->groups * filter;
    }
    t.sizes[t.rank] = s->filters / s->groups;
    t.strides[t.rank++] = filter;
    t.sizes[t.rank] = s->c / s->groups;
    t.strides[t.rank++] = cells;
    for (int d = 0; d < c->rank; d++) {
        cells /= c->kernel[d];
        t.sizes[t.rank] = c->kernel[d];
        t.strides[t.rank++] = cells;
    }
    t.slice = s->filters != c->filters ? s->filters * filter
              : s->c != c->c           ? s->c * t.strides[t.rank - c->rank - 1]
                                       : 0;
    return t;
}

/* The largest number of pieces up to PIECES_MOST that divides `size` into multiples of `unit`. */
static int pieces_of(int64_t size, int64_t unit)
{
    for (int n = PIECES_MOST; n > 1; n--)
        if (size % (n * unit) == 0)
            return n;
    return 1;
}

/* Cuts along what gives most pieces; images win a tie, as their operands are cut too. */
static void choose_cut(prepared_convolution *p)
{
    const fr_convolution *c = &p->shape;
    const bool weights = p->kind == FR_CONVOLUTION_BACKWARD_WEIGHTS;
    const bool data = p->kind == FR_CONVOLUTION_BACKWARD_DATA;
    const int images = weights ? 1 : pieces_of(c->n, 1);
    const int others = c->groups > 1 ? pieces_of(c->groups, 1)
                                     : pieces_of(data ? c->c : c->filters, CHANNELS_LEAST);
    p->cut = images >= others && !weights ? CUT_IMAGES
             : c->groups > 1              ? CUT_GROUPS
             : data                       ? CUT_CHANNELS
                                          : CUT_FILTERS;
    p->n_pieces = p->cut == CUT_IMAGES ? images : others;
}

static fr_status describe(prepared_convolution *p, const plain_tensor *x, const plain_tensor *w,
                          const plain_tensor *y, dnnl_primitive_desc_t *forward,
                          dnnl_primitive_desc_t *chosen)
{
    const fr_convolution *c = &p->shape;
    convolution_parts parts = {.with_bias = p->with_bias};
    for (int d = 0; d < c->rank; d++) {
        parts.stride[d] = c->stride[d];
        parts.dilation[d] = c->dilation[d] - 1;
        parts.pad_begin[d] = c->pad_begin[d];
        /* oneDNN wants the padding that is used, not what a stride leaves over */
        parts.pad_end[d] = (y->sizes[2 + d] - 1) * c->stride[d] +
                           (c->kernel[d] - 1) * c->dilation[d] + 1 - c->in[d] - c->pad_begin[d];
    }
    const dnnl_dims_t filters = {y->sizes[1]};
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t code = dnnl_primitive_attr_create(&attr);
    if (code == dnnl_success)
        code = dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
    if (code == dnnl_success)
        code = layout_any(&parts.x, x->rank, x->sizes);
    if (code == dnnl_success)
        code = layout_any(&parts.w, w->rank, w->sizes);
    if (code == dnnl_success)
        code = layout_any(&parts.y, y->rank, y->sizes);
    if (code == dnnl_success)
        code = layout_any(&parts.bias, 1, filters);
    if (code == dnnl_success)
        code = describe_forward(&parts, p->engine, attr, forward);
    if (code == dnnl_success && p->kind != FR_CONVOLUTION_FORWARD)
        code = describe_backward(&parts, p->kind, *forward, p->engine, attr, chosen);
    layout_release(&parts.x);
    layout_release(&parts.w);
    layout_release(&parts.y);
    layout_release(&parts.bias);
    if (attr != NULL)
        (void)dnnl_primitive_attr_destroy(attr);
    TRY_DNNL(code);
    return FR_OK;
}

/* Memory for an operand: the plain view and, where `wanted` differs, a buffer and a reorder. */
static fr_status prepare_operand(prepared_convolution *p, const plain_tensor *t, layout_view wanted,
                                 bool is_result, int number, operand *o)
{
    layout plain;
    memset(&plain, 0, sizeof plain);
    TRY_DNNL(layout_plain(&plain, t->rank, t->sizes, t->strides));
    o->offset = number * t->slice;
    dnnl_primitive_desc_t desc = NULL;
    dnnl_status_t code = dnnl_memory_create(&o->plain, view_of(&plain), p->engine, NULL);
    fr_status status = FR_OK;
    o->own = o->plain;
    if (code == dnnl_success && !dnnl_memory_desc_equal(view_of(&plain), wanted)) {
        o->own = NULL;
        status = fr_alloc_aligned(1, dnnl_memory_desc_get_size(wanted), "convolution layout",
                                  &o->buffer);
        if (status == FR_OK)
            code = dnnl_memory_create(&o->own, wanted, p->engine, o->buffer);
        if (status == FR_OK && code == dnnl_success)
            code = is_result ? dnnl_reorder_primitive_desc_create(&desc, wanted, p->engine,
                                                                  view_of(&plain), p->engine, NULL)
                             : dnnl_reorder_primitive_desc_create(&desc, view_of(&plain), p->engine,
                                                                  wanted, p->engine, NULL);
        if (status == FR_OK && code == dnnl_success)
            code = dnnl_primitive_create(&o->reorder, desc);
        if (desc != NULL)
            (void)dnnl_primitive_desc_destroy(desc);
    }
    layout_release(&plain);
    FR_RETURN_IF_ERROR(status);
    TRY_DNNL(code);
    return FR_OK;
}

typedef struct operand_roles {
    dnnl_query_t a, b, result;    /* layouts the primitive chose */
    int a_arg, b_arg, result_arg; /* names at execution */
} operand_roles;

static operand_roles roles_of(fr_convolution_kind kind)
{
    switch (kind) {
    case FR_CONVOLUTION_BACKWARD_DATA:
        return (operand_roles){dnnl_query_diff_dst_md, dnnl_query_weights_md,
                               dnnl_query_diff_src_md, DNNL_ARG_DIFF_DST,
                               DNNL_ARG_WEIGHTS,       DNNL_ARG_DIFF_SRC};
    case FR_CONVOLUTION_BACKWARD_WEIGHTS:
        return (operand_roles){dnnl_query_src_md,          dnnl_query_diff_dst_md,
                               dnnl_query_diff_weights_md, DNNL_ARG_SRC,
                               DNNL_ARG_DIFF_DST,          DNNL_ARG_DIFF_WEIGHTS};
    case FR_CONVOLUTION_FORWARD: break;
    }
    return (operand_roles){dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md,
                           DNNL_ARG_SRC,      DNNL_ARG_WEIGHTS,      DNNL_ARG_DST};
}

static fr_status prepare_pieces(prepared_convolution *p, const plain_tensor *x,
                                const plain_tensor *w, const plain_tensor *y,
                                dnnl_primitive_desc_t chosen)
{
    const operand_roles roles = roles_of(p->kind);
    const plain_tensor *a = p->kind == FR_CONVOLUTION_BACKWARD_DATA ? y : x;
    const plain_tensor *b = p->kind == FR_CONVOLUTION_BACKWARD_WEIGHTS ? y : w;
    const plain_tensor *result = p->kind == FR_CONVOLUTION_FORWARD         ? y
                                 : p->kind == FR_CONVOLUTION_BACKWARD_DATA ? x
                                                                           : w;
    const layout_view scratch = dnnl_primitive_desc_query_md(chosen, dnnl_query_scratchpad_md, 0);
    for (int i = 0; i < p->n_pieces; i++) {
        piece *at = &p->pieces[i];
        /* Where the cut leaves an operand whole, the first piece's serves all. */
        if (i == 0 || a->slice != 0)
            FR_RETURN_IF_ERROR(prepare_operand(
                p, a, dnnl_primitive_desc_query_md(chosen, roles.a, 0), false, i, &at->a));
        if (i == 0 || b->slice != 0)
            FR_RETURN_IF_ERROR(prepare_operand(
                p, b, dnnl_primitive_desc_query_md(chosen, roles.b, 0), false, i, &at->b));
        FR_RETURN_IF_ERROR(prepare_operand(p, result,
                                           dnnl_primitive_desc_query_md(chosen, roles.result, 0),
                                           true, i, &at->result));
        FR_RETURN_IF_ERROR(fr_alloc_aligned(1, dnnl_memory_desc_get_size(scratch),
                                            "convolution scratch", &at->scratch_bytes));
        TRY_DNNL(dnnl_memory_create(&at->scratch, scratch, p->engine, at->scratch_bytes));
        if (p->with_bias)
            TRY_DNNL(dnnl_memory_create(
                &at->bias, dnnl_primitive_desc_query_md(chosen, dnnl_query_weights_md, 1),
                p->engine, NULL));
    }
    return FR_OK;
}

static fr_status prepare(prepared_convolution *p)
{
    const fr_convolution *c = &p->shape;
    int64_t out[FR_SPATIAL_MOST];
    FR_RETURN_IF_ERROR(fr_convolution_out(c, out));
    TRY_DNNL(dnnl_engine_create(&p->engine, dnnl_cpu, 0));
    TRY_DNNL(dnnl_stream_create(&p->stream, p->engine, dnnl_stream_default_flags));
    const share s = share_of(c, p->cut, p->n_pieces);
    const plain_tensor x = image_tensor(c, s.n, s.c, c->c, c->in), w = weight_tensor(c, &s);
    const plain_tensor y = image_tensor(c, s.n, s.filters, c->filters, out);
    dnnl_primitive_desc_t forward = NULL, chosen = NULL;
    const int before = use_threads(1); /* the number of threads is part of a primitive */
    fr_status status = describe(p, &x, &w, &y, &forward, &chosen);
    const dnnl_primitive_desc_t desc = p->kind == FR_CONVOLUTION_FORWARD ? forward : chosen;
    if (status == FR_OK) {
        const dnnl_status_t code = dnnl_primitive_create(&p->primitive, desc);
        status = code == dnnl_success ? FR_OK : onednn_failed(code, "convolution");
    }
    (void)use_threads(p->threads);
    if (status == FR_OK)
        status = prepare_pieces(p, &x, &w, &y, desc);
    (void)use_threads(before);
    if (chosen != NULL)
        (void)dnnl_primitive_desc_destroy(chosen);
    if (forward != NULL)
        (void)dnnl_primitive_desc_destroy(forward);
    return status;
}

/* oneDNN takes memory to read as `void *` too; it does not write to it. */
static void *unconst(const float *values)
{
    void *result;
    memcpy(&result, &values, sizeof result);
    return result;
}

/* Points the operand to the caller's memory; one that is read is brought into its own layout. */
static fr_status enter_operand(prepared_convolution *p, operand *o, const float *values, bool read)
{
    if (o->plain == NULL)
        return FR_OK; /* shares the first piece's */
    TRY_DNNL(dnnl_memory_set_data_handle(o->plain, unconst(values + o->offset)));
    if (!read || o->reorder == NULL)
        return FR_OK;
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, o->plain}, {DNNL_ARG_TO, o->own}};
    TRY_DNNL(dnnl_primitive_execute(o->reorder, p->stream, 2, args));
    return FR_OK;
}

static void run_pieces(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    prepared_convolution *p = context;
    const operand_roles roles = roles_of(p->kind);
    const int before = use_threads(1);
    for (int64_t i = begin; i < end; i++) {
        piece *at = &p->pieces[i];
        const dnnl_memory_t a = at->a.own != NULL ? at->a.own : p->pieces[0].a.own;
        const dnnl_memory_t b = at->b.own != NULL ? at->b.own : p->pieces[0].b.own;
        const dnnl_exec_arg_t args[] = {{roles.a_arg, a},
                                        {roles.b_arg, b},
                                        {roles.result_arg, at->result.own},
                                        {DNNL_ARG_SCRATCHPAD, at->scratch},
                                        {DNNL_ARG_BIAS, at->bias}};
        const int n_args = p->with_bias ? 5 : 4;
        if (dnnl_primitive_execute(p->primitive, p->stream, n_args, args) != dnnl_success)
            p->status = FR_EINTERNAL; /* every writer writes the same */
    }
    (void)use_threads(before);
}

static fr_status execute(prepared_convolution *p, const float *a, const float *b, const float *bias,
                         float *result)
{
    for (int i = 0; i < p->n_pieces; i++) {
        FR_RETURN_IF_ERROR(enter_operand(p, &p->pieces[i].a, a, true));
        FR_RETURN_IF_ERROR(enter_operand(p, &p->pieces[i].b, b, true));
        FR_RETURN_IF_ERROR(enter_operand(p, &p->pieces[i].result, result, false));
        if (p->with_bias) {
            const bool sliced = p->cut == CUT_GROUPS || p->cut == CUT_FILTERS;
            const int64_t first = sliced ? p->shape.filters / p->n_pieces * i : 0;
            TRY_DNNL(dnnl_memory_set_data_handle(p->pieces[i].bias, unconst(bias + first)));
        }
    }
    p->status = FR_OK;
    fr_parallel_for(p->n_pieces, 1, run_pieces, p);
    if (p->status != FR_OK)
        return fr_fail(p->status, "convolution: oneDNN failed to run");
    for (int i = 0; i < p->n_pieces; i++) {
        const operand *o = &p->pieces[i].result;
        const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, o->own}, {DNNL_ARG_TO, o->plain}};
        if (o->reorder != NULL)
            TRY_DNNL(dnnl_primitive_execute(o->reorder, p->stream, 2, args));
    }
    return FR_OK;
}

/* Unused places of the arrays may hold anything. */
static bool same_shape(const fr_convolution *a, const fr_convolution *b)
{
    bool same = a->rank == b->rank && a->n == b->n && a->c == b->c && a->filters == b->filters &&
                a->groups == b->groups;
    for (int d = 0; same && d < a->rank; d++)
        same = a->in[d] == b->in[d] && a->kernel[d] == b->kernel[d] &&
               a->stride[d] == b->stride[d] && a->dilation[d] == b->dilation[d] &&
               a->pad_begin[d] == b->pad_begin[d] && a->pad_end[d] == b->pad_end[d];
    return same;
}

fr_status fr_onednn_convolution(fr_convolution_kind kind, const fr_convolution *c, const float *a,
                                const float *b, const float *bias, float *result, void **prepared)
{
    prepared_convolution *p = *prepared;
    if (p != NULL && (p->kind != kind || p->with_bias != (bias != NULL) ||
                      p->threads != fr_threads() || !same_shape(&p->shape, c))) {
        fr_onednn_convolution_release(p);
        *prepared = p = NULL;
    }
    if (p == NULL) {
        FR_RETURN_IF_ERROR(fr_alloc(1, sizeof *p, "convolution", &p));
        p->shape = *c;
        p->kind = kind;
        p->with_bias = bias != NULL;
        p->threads = fr_threads();
        choose_cut(p);
        const fr_status status = prepare(p);
        if (status != FR_OK) {
            fr_onednn_convolution_release(p);
            return status;
        }
        *prepared = p;
    }
    const int before = use_threads(p->threads);
    const fr_status status = execute(p, a, b, bias, result);
    (void)use_threads(before);
    return status;
}
