/*
 * op.h: what is known of one operator, in one place (private side of program.h).
 *
 * An operator is a `const fr_op` in its own file under src/program/ops/, named in list.h.
 * Everything else (builder, gradient, planner, executor, profile, tests, docs) walks the registry.
 *
 * An operator must work in f32 and f64 (gradients are checked in f64 by finite differences), for
 * sizes 0 and 1, and give the same bits with any number of threads.
 */
#ifndef FR_PROGRAM_OP_H
#define FR_PROGRAM_OP_H

#include <frugal/program.h>

#include "base/error.h"

enum { FR_MAX_OUTPUTS = 4 };

typedef struct fr_op fr_op;

/** One node of a program. Attributes and inputs are owned by the program. */
typedef struct fr_node {
    const fr_op *op;
    int32_t index; /* in the program: part of dropout's counter, name in messages */
    int n_inputs;
    fr_value *inputs; /* FR_NO_VALUE where an optional one was left out */
    int n_outputs;
    fr_value outputs[FR_MAX_OUTPUTS];
    int n_attributes;
    fr_attribute *attributes;
} fr_node;

/** Dtype and shape of a value; dtype FR_NO_DTYPE for an input left out. */
typedef struct fr_type {
    fr_dtype dtype;
    fr_shape shape;
} fr_type;

/** What a kernel sees of one execution. Sizes are bound; tensors are contiguous. */
typedef struct fr_run {
    const fr_node *node;
    const fr_tensor *in; /* n_inputs; dtype FR_NO_DTYPE where left out */
    fr_tensor *out;      /* n_outputs */
    void *workspace;     /* as many bytes as the kernel's `workspace` said */
    void **prepared;     /* a slot of this node that lives as long as the executor; starts NULL */
    bool training;
    uint64_t seed, step;
    const int64_t *sizes; /* bound sizes of the program's symbols: read with fr_run_size */
} fr_run;

/** The bound size of a dim that is an attribute. */
static inline int64_t fr_run_size(const fr_run *run, fr_dim dim)
{
    return dim.symbol < 0 ? dim.size : run->sizes[dim.symbol];
}

typedef struct fr_op_kernel {
    const char *name; /* "onednn", "own": printed by --profile */
    /** Whether it can run these; NULL: anything infer accepted. The first that can is taken. */
    bool (*supports)(const fr_node *node, const fr_tensor *in, const fr_tensor *out);
    /** Scratch bytes at these sizes (monotone in each size); NULL: none. */
    size_t (*workspace)(const fr_node *node, const fr_tensor *in, const fr_tensor *out);
    fr_status (*run)(const fr_run *run);
    /** Frees what run left in *prepared; NULL: nothing to free. */
    void (*release)(void *prepared);
} fr_op_kernel;

enum { FR_MAX_KERNELS = 4 };

struct fr_op {
    const char *name;           /* ONNX's where ONNX has the operator */
    int min_inputs, max_inputs; /* max -1: any number */
    int n_outputs;
    const char *const *attributes; /* names it accepts, NULL-terminated; NULL: none */
    /** Fills out[0 .. n_outputs) or fails with a sentence naming the operand and both facts. */
    fr_status (*infer)(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out);
    /** Adds backward nodes. grad_out[i] is FR_NO_VALUE where nothing arrives; wanted[i] says which
     * inputs need one; grad_in[i] starts as FR_NO_VALUE. NULL: no gradient (integer operators). */
    fr_status (*gradient)(fr_program *p, const fr_node *node, const fr_value *grad_out,
                          const bool *wanted, fr_value *grad_in);
    /** The operator as tensor algebra at bound sizes, in the text form of architecture.md, tensors
     * named I0, I1, ... and O; NULL where it is none. */
    fr_status (*expression)(const fr_node *node, const fr_tensor *in, const fr_tensor *out,
                            char *text, size_t bytes);
    /** Floating-point operations and bytes moved at least, for --profile; NULL: bytes of operands,
     * 0 FLOP. */
    void (*work)(const fr_node *node, const fr_tensor *in, const fr_tensor *out, double *flop,
                 double *bytes);
    uint32_t
        in_place; /* bit i: output 0 may take input i's memory (equal bytes, element by element) */
    bool is_view; /* output 0 is input 0's bytes under another shape: never runs */
    fr_op_kernel kernels[FR_MAX_KERNELS]; /* portable last; ends with run == NULL or at the limit */
};

/** The operator called `name`, NULL where there is none. */
const fr_op *fr_op_find(const char *name);
int fr_op_count(void);
const fr_op *fr_op_at(int i);

/* Attributes of a node, with the default where left out. */
int64_t fr_node_int(const fr_node *node, const char *name, int64_t otherwise);
double fr_node_float(const fr_node *node, const char *name, double otherwise);
const char *fr_node_string(const fr_node *node, const char *name, const char *otherwise);
/** Points to the numbers, *n = 0 and NULL where left out. */
const int64_t *fr_node_ints(const fr_node *node, const char *name, int *n);
const fr_dim *fr_node_dims(const fr_node *node, const char *name, int *n);

/* For infer: messages name the node and operand: "MatMul %7: inner sizes ...". */
fr_status fr_infer_fail(const fr_program *p, const fr_node *node, fr_status status,
                        const char *format, ...) FR_PRINTF(4, 5);
fr_status fr_infer_rank(const fr_program *p, const fr_node *node, const fr_type *in, int operand,
                        int least, int most);
fr_status fr_infer_float(const fr_program *p, const fr_node *node, const fr_type *in, int operand);
fr_status fr_infer_same_dtype(const fr_program *p, const fr_node *node, const fr_type *in, int a,
                              int b);
fr_status fr_infer_index(const fr_program *p, const fr_node *node, const fr_type *in,
                         int operand); /* i32 or i64 */
fr_status fr_infer_dim(const fr_program *p, const fr_node *node, const char *what_a, fr_dim a,
                       const char *what_b, fr_dim b);

/** How many nodes of an operator the program has so far. */
int fr_count_nodes(const fr_program *p, const char *op);

/** Type of a value while building (for gradient functions). */
fr_type fr_value_type(const fr_program *p, fr_value value);

/** One-output convenience over fr_apply. */
fr_value fr_apply_one(fr_program *p, const char *op, const fr_value *inputs, int n_inputs,
                      const fr_attribute *attributes, int n_attributes);

#endif
