/*
 * check.c: proves that every read of an expression lies within shape and padding of its source.
 *
 * Scopes are closed, so each is checked once by itself: every dimension of every read in its body
 * against the source's bounds, for all values of the scope's iterators. Intervals prove the most;
 * where they cannot, extent.c finds the exact values, and the sentence says where the index leaves.
 */
#include <frugal/expr.h>

#include <inttypes.h>

#include "base/alloc.h"
#include "expr/extent.h"
#include "expr/pool.h"

static fr_status check_dimension(const fr_expr_pool *pool, const fr_expr_view *scope,
                                 const fr_expr_view *source, int d, fr_expr_id index,
                                 int64_t *budget)
{
    const int64_t low = source->ranges[d].low - source->padding[d].low;
    const int64_t high = source->ranges[d].high + source->padding[d].high; /* beyond the last */
    const int n = scope->rank + scope->n_reduced;
    const char *name = source->name != NULL ? source->name : "a scope";
    int64_t least, greatest;
    if (fr_expr_index_bounds(pool, index, scope->ranges, n, &least, &greatest) && least >= low &&
        greatest < high)
        return FR_OK;
    fr_extent extent;
    FR_RETURN_IF_ERROR(
        fr_wrap(fr_index_extent(pool, index, scope->ranges, n, budget, &extent), "%s", name));
    if (extent.is_empty || (extent.least >= low && extent.greatest < high))
        return FR_OK;
    if (!extent.is_exact)
        return fr_fail(FR_ENOTSUP,
                       "%s: whether dimension %d is read within %" PRId64 "..%" PRId64
                       " takes too many points to find out",
                       name, d, low, high);
    const bool below = extent.least < low;
    char point[256];
    return fr_fail(
        FR_ERANGE,
        "%s is read at %" PRId64 " in dimension %d, outside %" PRId64 "..%" PRId64 " (%s)", name,
        below ? extent.least : extent.greatest, d, low, high,
        fr_point_text(pool, index, scope->names, below ? extent.at_least : extent.at_greatest,
                      point, sizeof point));
}

static fr_status check_scope(const fr_expr_pool *pool, fr_expr_id id, int64_t *budget)
{
    const fr_expr_view scope = fr_expr_look(pool, id);
    fr_id_list nodes;
    FR_RETURN_IF_ERROR(fr_pool_collect(pool, scope.body, true, &nodes));
    fr_status status = FR_OK;
    for (uint32_t i = 0; i < nodes.n; i++) {
        const fr_expr_view read = fr_expr_look(pool, nodes.ids[i]);
        if (read.kind != FR_EXPR_READ)
            continue;
        const fr_expr_view source = fr_expr_look(pool, read.source);
        for (int d = 0; d < read.rank; d++)
            FR_TRY(check_dimension(pool, &scope, &source, d, (fr_expr_id)read.indices[d], budget));
    }
done:
    fr_free(nodes.ids);
    return status;
}

/* Two tensors of one name are one input, so they must be one node. */
static fr_status check_names(const fr_expr_pool *pool, const fr_id_list *nodes)
{
    for (uint32_t i = 0; i < nodes->n; i++) {
        const fr_expr_view a = fr_expr_look(pool, nodes->ids[i]);
        for (uint32_t k = i + 1; a.kind == FR_EXPR_TENSOR && k < nodes->n; k++) {
            const fr_expr_view b = fr_expr_look(pool, nodes->ids[k]);
            if (b.kind == FR_EXPR_TENSOR && b.name == a.name)
                return fr_fail(FR_ESHAPE, "%s is read with two shapes or paddings", a.name);
        }
    }
    return FR_OK;
}

fr_status fr_expr_check(const fr_expr *expr)
{
    fr_id_list nodes;
    fr_status status;
    int64_t budget = FR_EXTENT_BUDGET;
    FR_RETURN_IF_ERROR(fr_pool_collect(expr->pool, expr->root, false, &nodes));
    FR_TRY(check_names(expr->pool, &nodes));
    for (uint32_t i = 0; i < nodes.n; i++)
        if (fr_pool_kind(expr->pool, nodes.ids[i]) == FR_EXPR_SCOPE)
            FR_TRY(check_scope(expr->pool, nodes.ids[i], &budget));
done:
    fr_free(nodes.ids);
    return status;
}

int fr_expr_shape(const fr_expr *expr, int64_t *shape)
{
    const fr_expr_view scope = fr_expr_look(expr->pool, expr->root);
    for (int d = 0; d < scope.rank; d++)
        shape[d] = scope.ranges[d].high - scope.ranges[d].low;
    return scope.rank;
}

fr_status fr_expr_inputs(const fr_expr *expr, fr_expr_input *inputs, int most, int *n)
{
    *n = 0;
    fr_id_list nodes;
    FR_RETURN_IF_ERROR(fr_pool_collect(expr->pool, expr->root, false, &nodes));
    for (uint32_t i = 0; i < nodes.n; i++) {
        const fr_expr_view tensor = fr_expr_look(expr->pool, nodes.ids[i]);
        if (tensor.kind != FR_EXPR_TENSOR)
            continue;
        if (*n < most) {
            fr_expr_input *input = &inputs[*n];
            *input = (fr_expr_input){.name = tensor.name, .rank = tensor.rank};
            for (int d = 0; d < tensor.rank; d++) {
                input->shape[d] = tensor.ranges[d].high;
                input->pad_low[d] = tensor.padding[d].low;
                input->pad_high[d] = tensor.padding[d].high;
            }
        }
        ++*n;
    }
    fr_free(nodes.ids);
    return FR_OK;
}

fr_status fr_expr_work(const fr_expr *expr, double *operations)
{
    *operations = 0;
    fr_id_list nodes, body;
    FR_RETURN_IF_ERROR(fr_pool_collect(expr->pool, expr->root, false, &nodes));
    fr_status status = FR_OK;
    double sum = 0;
    for (uint32_t i = 0; i < nodes.n; i++) {
        const fr_expr_view scope = fr_expr_look(expr->pool, nodes.ids[i]);
        if (scope.kind != FR_EXPR_SCOPE)
            continue;
        FR_TRY(fr_pool_collect(expr->pool, scope.body, true, &body));
        double scalars = 1; /* the reduction, or the store */
        for (uint32_t k = 0; k < body.n; k++)
            scalars += fr_kind_is_scalar(fr_pool_kind(expr->pool, body.ids[k]));
        fr_free(body.ids);
        for (int k = 0; k < scope.rank + scope.n_reduced; k++)
            scalars *= (double)(scope.ranges[k].high - scope.ranges[k].low);
        sum += scalars;
    }
    *operations = sum;
done:
    fr_free(nodes.ids);
    return status;
}
