/*
 * program.h: tensor programs: build, differentiate, plan, run.
 *
 * A program is a list of operator nodes over values (single assignment). It reads as the formula:
 *
 *     fr_program *p = fr_program_create();
 *     fr_dim n = fr_symbol(p, "n"), k = fr_constant(64), c = fr_constant(7);
 *     fr_value x = fr_input(p, "x", FR_F32, FR_SHAPE(n, k));
 *     fr_value y = fr_input(p, "y", FR_I32, FR_SHAPE(n));
 *     fr_value w = fr_parameter(p, "w", FR_F32, FR_SHAPE(k, c), fr_glorot());
 *     fr_value loss = fr_cross_entropy(p, fr_matmul(p, x, w), y, -1);
 *     fr_value dw;
 *     fr_gradient(p, loss, &w, 1, &dw);
 *     fr_output(p, "loss", loss);
 *     fr_output(p, "dw", dw);
 *
 *     fr_executor *e;
 *     fr_executor_create(p, &(fr_executor_options){.training = true, .seed = 1}, &e);  // plans once
 *     fr_executor_bind(e, n, 1000);          // a new batch size: no new plan while it fits
 *     fr_executor_set(e, x, x_rows);         // caller's memory, no copy
 *     fr_executor_set(e, y, labels);
 *     fr_executor_run(e);
 *     const float *l = fr_executor_data(e, loss);
 *
 * Errors are sticky: the first mistake while building is kept in the program with its sentence,
 * later calls return FR_NO_VALUE and do nothing; fr_program_check or fr_executor_create reports it.
 *
 * Dimensions are constants, named symbols, or sums and products of those. Symbols are bound per run.
 * Names and meaning of operators follow ONNX where ONNX has them. Stable: building, gradient,
 * executor. Advanced (may change): nodes, attributes, registry listing.
 */
#ifndef FRUGAL_PROGRAM_H
#define FRUGAL_PROGRAM_H

#include <frugal/tensor.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fr_program fr_program;
typedef struct fr_executor fr_executor;
typedef int32_t fr_value;
enum { FR_NO_VALUE = -1 };

/* ---- dimensions ---- */

/** A size: the constant `size` where symbol is -1, else number `symbol` of the program's table. */
typedef struct fr_dim {
    int64_t size;
    int32_t symbol;
} fr_dim;

typedef struct fr_shape {
    int rank;
    fr_dim dims[FR_MAX_RANK];
} fr_shape;

static inline fr_dim fr_constant(int64_t size) { return (fr_dim){.size = size, .symbol = -1}; }
#define FR_SHAPE(...)                                                                              \
    ((fr_shape){.rank = (int)(sizeof((fr_dim[]){__VA_ARGS__}) / sizeof(fr_dim)),                   \
                .dims = {__VA_ARGS__}})
#define FR_SCALAR ((fr_shape){.rank = 0})

/** The symbol called `name`; the same name gives the same symbol. */
FR_API fr_dim fr_symbol(fr_program *p, const char *name);
/** Sum, product, and floor of the quotient by a constant; folded for constants, and equal
 * expressions give equal dims (a+b is b+a). */
FR_API fr_dim fr_dim_add(fr_program *p, fr_dim a, fr_dim b);
FR_API fr_dim fr_dim_multiply(fr_program *p, fr_dim a, fr_dim b);
FR_API fr_dim fr_dim_divide(fr_program *p, fr_dim a, int64_t divisor);
FR_API bool fr_dim_equal(fr_dim a, fr_dim b);
/** "n0", "(n0+m)", "64" into buffer; returns buffer. */
FR_API const char *fr_dim_text(const fr_program *p, fr_dim dim, char *buffer, size_t bytes);

/* ---- building ---- */

/** A new program; NULL only where memory ran out. */
FR_API fr_program *fr_program_create(void);
FR_API void fr_program_free(fr_program *p); /* NULL-safe */
/** The first mistake made while building, or FR_OK. */
FR_API fr_status fr_program_check(const fr_program *p);
/** Prints the program, a line a node: "%5 = MatMul(%3, %w) transB=1 : f32 n0x64". */
FR_API void fr_program_print(const fr_program *p, FILE *stream);

/** How a parameter starts. Random ones depend on (seed, parameter's name) only. */
typedef enum fr_initializer_kind { FR_INIT_ZERO, FR_INIT_CONSTANT, FR_INIT_UNIFORM, FR_INIT_NORMAL, FR_INIT_GLOROT, FR_INIT_KAIMING } fr_initializer_kind;
typedef struct fr_initializer {
    fr_initializer_kind kind;
    double a, b; /* constant: a; uniform: [a, b); normal: mean a, deviation b; glorot: gain a; kaiming: a */
} fr_initializer;
static inline fr_initializer fr_zeros(void) { return (fr_initializer){FR_INIT_ZERO, 0, 0}; }
static inline fr_initializer fr_fill(double value) { return (fr_initializer){FR_INIT_CONSTANT, value, 0}; }
static inline fr_initializer fr_uniform(double low, double high) { return (fr_initializer){FR_INIT_UNIFORM, low, high}; }
static inline fr_initializer fr_normal(double mean, double deviation) { return (fr_initializer){FR_INIT_NORMAL, mean, deviation}; }
/** Uniform within sqrt(6 / (fan_in + fan_out)); fans are the last two dims (rank 1: the one dim is fan_out, fan_in 1). */
static inline fr_initializer fr_glorot(void) { return (fr_initializer){FR_INIT_GLOROT, 1, 0}; }
/** Uniform within sqrt(3) * sqrt(2 / ((1 + a*a) * fan_in)), as torch's kaiming_uniform_. */
static inline fr_initializer fr_kaiming(double a) { return (fr_initializer){FR_INIT_KAIMING, a, 0}; }

/** A value the caller gives at run time. Its dtype may be float or integer. */
FR_API fr_value fr_input(fr_program *p, const char *name, fr_dtype dtype, fr_shape shape);
/** A trained value, owned by the executor (or shared, see fr_executor_options). Constant shape. */
FR_API fr_value fr_parameter(fr_program *p, const char *name, fr_dtype dtype, fr_shape shape, fr_initializer initializer);
/** State that a run updates but no gradient reaches (running statistics of a norm). */
FR_API fr_value fr_state(fr_program *p, const char *name, fr_dtype dtype, fr_shape shape, fr_initializer initializer);
/** A constant tensor, copied into the program. */
FR_API fr_value fr_literal(fr_program *p, const fr_tensor *tensor);
FR_API fr_value fr_literal_scalar(fr_program *p, fr_dtype dtype, double number);
/** Marks a value as an output called `name`: it stays readable after the run. */
FR_API void fr_output(fr_program *p, const char *name, fr_value value);
/** The named input, parameter, state or output; FR_NO_VALUE where there is none (not an error). */
FR_API fr_value fr_find(const fr_program *p, const char *name);
FR_API fr_shape fr_value_shape(const fr_program *p, fr_value value);
FR_API fr_dtype fr_value_dtype(const fr_program *p, fr_value value);
/** Name given to an input, parameter, state or output; "" for others. */
FR_API const char *fr_value_name(const fr_program *p, fr_value value);
FR_API int fr_n_parameters(const fr_program *p);
FR_API fr_value fr_parameter_at(const fr_program *p, int i);
FR_API int fr_n_states(const fr_program *p);
FR_API fr_value fr_state_at(const fr_program *p, int i);

/* Any operator of the registry by name, with attributes. The typed calls below are thin over it. */
typedef struct fr_attribute {
    const char *name;
    enum { FR_ATTRIBUTE_INT, FR_ATTRIBUTE_FLOAT, FR_ATTRIBUTE_INTS, FR_ATTRIBUTE_STRING, FR_ATTRIBUTE_DIMS } kind;
    int64_t i;
    double f;
    const int64_t *ints;
    const fr_dim *dims;
    int n; /* of ints or dims */
    const char *s;
} fr_attribute;
#define FR_INT(attribute_name, value) ((fr_attribute){.name = (attribute_name), .kind = FR_ATTRIBUTE_INT, .i = (value)})
#define FR_FLOAT(attribute_name, value) ((fr_attribute){.name = (attribute_name), .kind = FR_ATTRIBUTE_FLOAT, .f = (value)})
#define FR_INTS(attribute_name, values, count) ((fr_attribute){.name = (attribute_name), .kind = FR_ATTRIBUTE_INTS, .ints = (values), .n = (count)})
#define FR_DIMS(attribute_name, values, count) ((fr_attribute){.name = (attribute_name), .kind = FR_ATTRIBUTE_DIMS, .dims = (values), .n = (count)})
#define FR_STRING(attribute_name, value) ((fr_attribute){.name = (attribute_name), .kind = FR_ATTRIBUTE_STRING, .s = (value)})

/** Adds a node. `outputs` takes all of the operator's outputs (FR_NO_VALUE where it failed).
 * An optional input left out is FR_NO_VALUE. */
FR_API void fr_apply(fr_program *p, const char *op, const fr_value *inputs, int n_inputs,
                     const fr_attribute *attributes, int n_attributes, fr_value *outputs, int n_outputs);

/* Element-wise, with NumPy broadcasting where there are two operands. */
FR_API fr_value fr_add(fr_program *p, fr_value a, fr_value b);
FR_API fr_value fr_sub(fr_program *p, fr_value a, fr_value b);
FR_API fr_value fr_mul(fr_program *p, fr_value a, fr_value b);
FR_API fr_value fr_div(fr_program *p, fr_value a, fr_value b);
FR_API fr_value fr_max(fr_program *p, fr_value a, fr_value b);
FR_API fr_value fr_min(fr_program *p, fr_value a, fr_value b);
FR_API fr_value fr_neg(fr_program *p, fr_value x);
FR_API fr_value fr_abs(fr_program *p, fr_value x);
FR_API fr_value fr_exp(fr_program *p, fr_value x);
FR_API fr_value fr_log(fr_program *p, fr_value x);
FR_API fr_value fr_sqrt(fr_program *p, fr_value x);
FR_API fr_value fr_sigmoid(fr_program *p, fr_value x);
FR_API fr_value fr_tanh(fr_program *p, fr_value x);
FR_API fr_value fr_relu(fr_program *p, fr_value x);
FR_API fr_value fr_leaky_relu(fr_program *p, fr_value x, double slope);
FR_API fr_value fr_elu(fr_program *p, fr_value x, double alpha);
FR_API fr_value fr_gelu(fr_program *p, fr_value x); /* exact, by erf */
FR_API fr_value fr_silu(fr_program *p, fr_value x);
FR_API fr_value fr_softplus(fr_program *p, fr_value x);
FR_API fr_value fr_scale(fr_program *p, fr_value x, double factor); /* x * factor */

/* Dense. */
FR_API fr_value fr_matmul(fr_program *p, fr_value a, fr_value b); /* batched like ONNX MatMul */
FR_API fr_value fr_matmul_transposed(fr_program *p, fr_value a, bool transpose_a, fr_value b, bool transpose_b);
FR_API fr_value fr_linear(fr_program *p, fr_value x, fr_value weight, fr_value bias); /* x[..,k] @ weight[k,m] + bias[m]; bias may be FR_NO_VALUE */
/** act(sum over i of x[i] @ weight[i] + bias) in one pass: x[i] [m, k_i], weight[i] [k_i, n], bias [n]; act is relu or nothing. */
FR_API fr_value fr_linear_sum(fr_program *p, const fr_value *x, const fr_value *weight, int n, fr_value bias, bool relu);
FR_API fr_value fr_reduce_sum(fr_program *p, fr_value x, const int64_t *axes, int n_axes, bool keep);
FR_API fr_value fr_reduce_mean(fr_program *p, fr_value x, const int64_t *axes, int n_axes, bool keep);
FR_API fr_value fr_reduce_max(fr_program *p, fr_value x, const int64_t *axes, int n_axes, bool keep);
FR_API fr_value fr_softmax(fr_program *p, fr_value x, int axis);
FR_API fr_value fr_log_softmax(fr_program *p, fr_value x, int axis);
/** Mean negative log likelihood of logits [n, c] and integer labels [n]; rows whose label is
 * `ignore` count for nothing; no row left gives 0. Scalar. */
FR_API fr_value fr_cross_entropy(fr_program *p, fr_value logits, fr_value labels, int64_t ignore);
/** Mean binary cross-entropy with logits of [n, c] against targets [n, c] of the logits' dtype;
 * targets below 0 are masked. Scalar. */
FR_API fr_value fr_binary_cross_entropy(fr_program *p, fr_value logits, fr_value targets);
FR_API fr_value fr_layer_norm(fr_program *p, fr_value x, fr_value scale, fr_value bias, double epsilon); /* over the last axis */
FR_API fr_value fr_rms_norm(fr_program *p, fr_value x, fr_value scale, double epsilon);
/** Batch norm of [n, c] (or [n, c, ...]): batch statistics while training, which also move the
 * states `mean` and `variance` [c] by `momentum` (new = (1 - momentum) * old + momentum * batch); the states otherwise. */
FR_API fr_value fr_batch_norm(fr_program *p, fr_value x, fr_value scale, fr_value bias, fr_value mean, fr_value variance, double epsilon, double momentum);
/** Zeroes with probability `ratio` and scales the rest by 1/(1-ratio) while training; identity otherwise.
 * The mask is a function of (executor seed, step, node, element). */
FR_API fr_value fr_dropout(fr_program *p, fr_value x, double ratio);

/* Layout. */
FR_API fr_value fr_gather(fr_program *p, fr_value x, fr_value indices, int axis); /* i32 or i64 */
FR_API fr_value fr_concat(fr_program *p, const fr_value *values, int n, int axis);
/** [begin, end) of one axis with symbolic ends; slices of several axes are several calls. */
FR_API fr_value fr_slice(fr_program *p, fr_value x, int axis, fr_dim begin, fr_dim end);
FR_API fr_value fr_reshape(fr_program *p, fr_value x, fr_shape shape);
FR_API fr_value fr_transpose(fr_program *p, fr_value x, const int64_t *permutation, int rank);
/** Rows of a table [v, d] by ids [..]: [.., d]. The gradient of the table is row-sparse: see
 * fr_gradient_rows. */
FR_API fr_value fr_embedding(fr_program *p, fr_value table, fr_value ids);
/** out[i] = computed[position[i]] where position >= 0, else cached[-1 - position]. How cached rows
 * join computed ones (FreshGNN, section 4). Gradients reach both. */
FR_API fr_value fr_merge_rows(fr_program *p, fr_value computed, fr_value cached, fr_value position);

/* Sparse. A block is (begin, end, source): row i's messages come from source[begin[i] .. end[i]),
 * begin and end i64 [rows], source i32 [edges], values below the number of rows of x. */
typedef struct fr_block {
    fr_value begin, end, source;
} fr_block;
/** out[i] = reduce over e in row i of weight[e] * x[source[e]]; weight [edges] may be FR_NO_VALUE;
 * x [m, d] or, with weight [edges, heads], x [m, heads*d]. Empty row: 0. */
FR_API fr_value fr_spmm(fr_program *p, fr_block block, fr_value x, fr_value weight, fr_reduction reduction);
/** Sum, mean or max of consecutive segments of x's rows: out[i] over x[offset[i] .. offset[i+1]); offset i64 [n+1]. Empty: 0. */
FR_API fr_value fr_segment(fr_program *p, fr_value x, fr_value offset, fr_reduction reduction);
/** Per edge and head: left[row] + right[source], [edges, heads], of left [rows, heads], right [m, heads]. */
FR_API fr_value fr_edge_add(fr_program *p, fr_block block, fr_value left, fr_value right);
/** Softmax of edge scores [edges, heads] over each row's edges. */
FR_API fr_value fr_edge_softmax(fr_program *p, fr_block block, fr_value scores);

/* Images, NCHW. */
typedef struct fr_window {
    int rank;                                  /* spatial dimensions */
    int64_t kernel[3], stride[3], dilation[3]; /* dilation 0 is read as 1, stride 0 as 1 */
    int64_t pad_begin[3], pad_end[3];
    int64_t groups;                            /* convolution; 0 is read as 1 */
    bool count_padding;                        /* average pooling */
} fr_window;
FR_API fr_value fr_convolution(fr_program *p, fr_value x, fr_value weight, fr_value bias, fr_window window);
FR_API fr_value fr_max_pool(fr_program *p, fr_value x, fr_window window);
FR_API fr_value fr_average_pool(fr_program *p, fr_value x, fr_window window);

/* ---- gradient ---- */

/**
 * Adds the nodes that compute d(loss)/d(wrt[i]) and gives their values in grads[i].
 *
 * Any value may stand in wrt: parameters, inputs, results of nodes (so the score of a cached row is
 * asked for like any other gradient). A value the loss does not depend on gets zeros.
 * Reverse mode; contributions are added in a fixed order.
 *
 * @param loss  a scalar
 * @return FR_OK; FR_ESHAPE loss is no scalar; FR_ENOTSUP a node on the way has no gradient (named)
 */
FR_API fr_status fr_gradient(fr_program *p, fr_value loss, const fr_value *wrt, int n, fr_value *grads);

/** As fr_gradient for one embedding table used by one fr_embedding: the gradient of the gathered rows
 * [.., d] in the order of ids, for a row-sparse optimizer. */
FR_API fr_status fr_gradient_rows(fr_program *p, fr_value loss, fr_value table, fr_value *row_grads);

/* ---- executor ---- */

typedef struct fr_executor_options {
    bool training;          /* dropout, batch statistics */
    uint64_t seed;          /* parameters' start, dropout */
    fr_executor *share;     /* take parameters and states from this executor by name (evaluation); it must outlive this one */
    const fr_value *keep;   /* further values to keep readable after a run */
    int n_keep;
    bool profile;
} fr_executor_options;

/** Checks the program, plans memory, prepares kernels, initialises parameters. The program must
 * outlive the executor and not change. NULL options are all zero. */
FR_API fr_status fr_executor_create(const fr_program *p, const fr_executor_options *options, fr_executor **executor);
FR_API void fr_executor_free(fr_executor *executor); /* NULL-safe */

/** Binds a named symbol for the coming runs. Memory is planned anew only where a size exceeds the
 * largest seen so far. @return FR_ERANGE a negative size */
FR_API fr_status fr_executor_bind(fr_executor *e, fr_dim symbol, int64_t size);
/** Raises what is planned for a symbol ahead of time, so that no run has to. */
FR_API fr_status fr_executor_reserve(fr_executor *e, fr_dim symbol, int64_t size);
/** Points an input at the caller's memory (contiguous, the bound shape), which must stay until
 * the run is over. */
FR_API fr_status fr_executor_set(fr_executor *e, fr_value input, const void *data);
/** Which step this run is: part of dropout's counter. */
FR_API void fr_executor_set_step(fr_executor *e, uint64_t step);
/** Runs all nodes in order. @return FR_EINVAL an input or symbol not set; FR_ESHAPE bound sizes disagree (operand named) */
FR_API fr_status fr_executor_run(fr_executor *e);
/** Memory of a parameter, state, output or kept value. Parameters: may be written between runs.
 * NULL for a value that is not kept. */
FR_API void *fr_executor_data(fr_executor *e, fr_value value);
/** The bound size of a dim, and of a value's shape. */
FR_API int64_t fr_executor_size(const fr_executor *e, fr_dim dim);
FR_API fr_status fr_executor_shape(const fr_executor *e, fr_value value, fr_tensor *view);

typedef struct fr_executor_stats {
    int64_t planned_peak_bytes; /* of the shared arena at the present capacity */
    int64_t sum_bytes;          /* of all values that live in it: what no reuse would take */
    int64_t parameter_bytes;
    int64_t n_plans;            /* since creation */
    int64_t n_runs;
} fr_executor_stats;
FR_API fr_executor_stats fr_executor_get_stats(const fr_executor *e);
/** Table per node: runs, time, share, GFLOP/s, GB/s, kernel that ran (needs options.profile). */
FR_API fr_status fr_executor_print_profile(const fr_executor *e, FILE *stream);

/* ---- registry (advanced) ---- */
FR_API int fr_n_operators(void);
FR_API const char *fr_operator_name(int i);
/** Prints name, attributes, gradient, expression, kernels of every operator: `frugal doctor --operators`. */
FR_API fr_status fr_operators_print(FILE *stream);

#ifdef __cplusplus
}
#endif
#endif
