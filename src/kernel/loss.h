/*
 * loss.h: losses over rows of logits, their gradients, and the sums behind them.
 *
 * A loss is a mean over what counts (labels that are not ignored, targets that are not masked);
 * where nothing counts it is 0, and so is its gradient. Each row's loss is one thread's and the
 * rows are added in order, in double: the same bits with any number of threads. f32 and f64.
 */
#ifndef FR_KERNEL_LOSS_H
#define FR_KERNEL_LOSS_H

#include <frugal/tensor.h>
#include <stdint.h>

typedef struct fr_cross_entropy_shape {
    fr_dtype dtype; /* FR_F32 or FR_F64: of logits and what comes from them */
    int64_t n_rows, n_classes;
    fr_dtype label_dtype; /* FR_I32 or FR_I64 */
    const void *labels;   /* n_rows */
    int64_t ignore;       /* a row with this label counts for nothing */
} fr_cross_entropy_shape;

/**
 * *loss = mean over rows that count of -log softmax(logits[row])[label[row]].
 *
 * @param rows       2 n_rows of the dtype, written: maximum of the row, log of the sum of
 * exponentials above it (what the gradient needs; 0, 0 for a row that does not count)
 * @param row_losses n_rows doubles of scratch
 * @return FR_ERANGE a label outside [0, n_classes) that is not `ignore` (row and label are named)
 */
fr_status fr_cross_entropy_run(const fr_cross_entropy_shape *shape, const void *logits, void *loss,
                               void *rows, double *row_losses);

/** dlogits = (softmax(logits) - onehot(label)) * dloss / count for rows that count, else 0. Labels
 * are those that the forward run has checked. */
fr_status fr_cross_entropy_gradient_run(const fr_cross_entropy_shape *shape, const void *logits,
                                        const void *rows, const void *dloss, void *dlogits);

/** *loss = mean over elements with target >= 0 of max(x, 0) - x t + log(1 + exp(-|x|)); *count is
 * how many those are. `scratch` holds fr_binary_cross_entropy_scratch(n) doubles. */
int64_t fr_binary_cross_entropy_scratch(int64_t n);
void fr_binary_cross_entropy_run(fr_dtype dtype, int64_t n, const void *logits, const void *targets,
                                 void *loss, int64_t *count, double *scratch);
/** dlogits = (sigmoid(x) - t) * dloss / count where target >= 0, else 0. */
void fr_binary_cross_entropy_gradient_run(fr_dtype dtype, int64_t n, const void *logits,
                                          const void *targets, int64_t count, const void *dloss,
                                          void *dlogits);

#endif
