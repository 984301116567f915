/*
 * test_tensor.c: tensors made, viewed, described and copied.
 *
 * Oracle of copies: each element by its index, one at a time, through value_at below.
 */
#include "test_main.h"

#include <frugal/tensor.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/random.h"

static void dtypes_have_their_names_and_bytes(void **state)
{
    (void)state;
    assert_int_equal(fr_dtype_bytes(FR_F32), 4);
    assert_int_equal(fr_dtype_bytes(FR_F8E4M3), 1);
    assert_int_equal(fr_dtype_bytes(FR_U64), 8);
    assert_int_equal(fr_dtype_bytes((fr_dtype)77), 0);
    assert_string_equal(fr_dtype_name(FR_BF16), "bf16");
    assert_string_equal(fr_dtype_name((fr_dtype)77), "?");
#define ROUND_TRIP(dtype, number, bytes, text)                                                     \
    assert_int_equal(fr_dtype_from_name(fr_dtype_name(dtype)), dtype);
    FR_DTYPE_TABLE(ROUND_TRIP)
#undef ROUND_TRIP
    assert_int_equal(fr_dtype_from_name("f33"), FR_NO_DTYPE);
    assert_int_equal(fr_dtype_from_name(""), FR_NO_DTYPE);
    assert_int_equal(fr_dtype_from_name(NULL), FR_NO_DTYPE);
    assert_true(fr_dtype_is_float(FR_F8E4M3));
    assert_false(fr_dtype_is_float(FR_I64));
}

static void a_new_tensor_is_zeroed_aligned_and_row_major(void **state)
{
    (void)state;
    fr_tensor x;
    assert_int_equal(fr_tensor_create(FR_F64, 3, (int64_t[]){2, 3, 5}, &x), FR_OK);
    assert_int_equal(fr_tensor_count(&x), 30);
    assert_int_equal(x.stride[0], 15);
    assert_int_equal(x.stride[1], 5);
    assert_int_equal(x.stride[2], 1);
    assert_int_equal((uintptr_t)x.data % 64, 0);
    for (int i = 0; i < 30; i++)
        assert_true(((double *)x.data)[i] == 0);
    assert_true(fr_tensor_is_contiguous(&x));
    fr_tensor_release(&x);
    assert_null(x.data);
    fr_tensor_release(&x);
    fr_tensor_release(NULL);
}

static void scalars_and_empty_tensors_are_tensors(void **state)
{
    (void)state;
    fr_tensor x, y;
    assert_int_equal(fr_tensor_create(FR_I8, 0, NULL, &x), FR_OK);
    assert_int_equal(fr_tensor_count(&x), 1);
    assert_true(fr_tensor_is_contiguous(&x));
    fr_tensor_release(&x);
    assert_int_equal(fr_tensor_create(FR_I8, 2, (int64_t[]){0, 7}, &x), FR_OK);
    assert_int_equal(fr_tensor_count(&x), 0);
    assert_int_equal(fr_tensor_create(FR_F64, 2, (int64_t[]){0, 7}, &y), FR_OK);
    assert_int_equal(fr_tensor_copy(&x, &y), FR_OK);
    fr_tensor_release(&x);
    fr_tensor_release(&y);
}

static void sizes_that_make_no_tensor_are_refused(void **state)
{
    (void)state;
    const int64_t huge = INT64_C(1) << 62;
    char placeholder;
    const struct {
        fr_dtype dtype;
        int rank;
        int64_t shape[FR_MAX_RANK + 1];
        fr_status status;
    } cases[] = {
        {FR_F32, -1, {0}, FR_ESHAPE},
        {FR_F32, 9, {1, 1, 1, 1, 1, 1, 1, 1, 1}, FR_ESHAPE},
        {FR_F32, 2, {3, -1}, FR_ESHAPE},
        {FR_F32, 1, {INT64_MIN}, FR_ESHAPE},
        {FR_F32, 2, {huge, 2}, FR_ESHAPE},
        {FR_F64, 1, {huge}, FR_ESHAPE},
        {FR_F64, 3, {0, huge, huge}, FR_ESHAPE}, /* empty, but its strides overflow */
        {(fr_dtype)0, 1, {1}, FR_EDTYPE},
        {(fr_dtype)13, 1, {1}, FR_EDTYPE},
        {FR_I8, 1, {INT64_MAX - 100}, FR_ENOMEM},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fr_tensor x = {.rank = 5};
        assert_int_equal(fr_tensor_create(cases[i].dtype, cases[i].rank, cases[i].shape, &x),
                         cases[i].status);
        assert_null(x.data);
        assert_null(x.owned);
        if (cases[i].status != FR_ENOMEM)
            assert_int_equal(
                fr_tensor_view(cases[i].dtype, cases[i].rank, cases[i].shape, &placeholder, &x),
                cases[i].status);
    }
}

static void text_names_dtype_and_sizes_and_never_overruns(void **state)
{
    (void)state;
    char text[64], tiny[6];
    fr_tensor x = {.dtype = FR_F32, .rank = 2, .shape = {3, 4}};
    assert_string_equal(fr_tensor_text(&x, text, sizeof text), "f32 3x4");
    assert_string_equal(fr_tensor_text(&x, tiny, sizeof tiny), "f32 3");
    x.rank = 0;
    assert_string_equal(fr_tensor_text(&x, text, sizeof text), "f32 scalar");
    assert_ptr_equal(fr_tensor_text(&x, text, 0), text);
}

static void contiguity_ignores_strides_that_are_never_walked(void **state)
{
    (void)state;
    fr_tensor x = {.dtype = FR_F32, .rank = 3, .shape = {4, 1, 5}, .stride = {5, 99, 1}};
    assert_true(fr_tensor_is_contiguous(&x));
    x.stride[0] = 6;
    assert_false(fr_tensor_is_contiguous(&x));
    x.shape[2] = 0;
    assert_true(fr_tensor_is_contiguous(&x));
}

/* ---- copies ---- */

static double value_at(const fr_tensor *x, const int64_t *index)
{
    int64_t offset = 0;
    for (int d = 0; d < x->rank; d++)
        offset += index[d] * x->stride[d];
    if (x->dtype == FR_F64)
        return ((const double *)x->data)[offset];
    if (x->dtype == FR_F32)
        return (double)((const float *)x->data)[offset];
    if (x->dtype == FR_I32)
        return ((const int32_t *)x->data)[offset];
    return ((const int8_t *)x->data)[offset];
}

static bool next_index(const fr_tensor *x, int64_t *index)
{
    for (int d = x->rank - 1; d >= 0; d--) {
        if (++index[d] < x->shape[d])
            return true;
        index[d] = 0;
    }
    return false;
}

/* A view with random permuted, gapped, repeated or reversed strides over a filled block. */
static fr_tensor random_view(fr_random *random, fr_tensor *block, const int64_t *shape, int rank,
                             fr_dtype dtype, bool may_repeat)
{
    fr_tensor view = {.dtype = dtype, .rank = rank};
    int order[FR_MAX_RANK];
    for (int d = 0; d < rank; d++) {
        const int at = (int)fr_random_below(random, (uint64_t)d + 1);
        order[d] = order[at];
        order[at] = d;
    }
    int64_t stride = 1, start = 0;
    for (int k = 0; k < rank; k++) {
        const int d = order[k];
        view.shape[d] = shape[d];
        stride *= 1 + (int64_t)fr_random_below(random, 3);
        if (may_repeat && fr_random_below(random, 8) == 0)
            continue;
        view.stride[d] = stride;
        stride *= shape[d];
        if (fr_random_below(random, 4) == 0) {
            start += (shape[d] - 1) * view.stride[d];
            view.stride[d] = -view.stride[d];
        }
    }
    assert_int_equal(fr_tensor_create(dtype, 1, &stride, block), FR_OK);
    view.data = (char *)block->data + (size_t)start * fr_dtype_bytes(dtype);
    return view;
}

static void strided_copies_move_every_element_and_no_other(void **state)
{
    (void)state;
    fr_random random = fr_random_start(fr_test_seed(), 2);
    const fr_dtype dtypes[] = {FR_F64, FR_F32, FR_I32, FR_I8};
    for (int round = 0; round < 400; round++) {
        int64_t shape[FR_MAX_RANK];
        const int rank = 1 + (int)fr_random_below(&random, 4);
        for (int d = 0; d < rank; d++)
            shape[d] =
                1 + (int64_t)fr_random_below(&random, d == rank - 1 && round % 7 == 0 ? 600 : 7);
        fr_tensor from_block, to_block;
        const fr_dtype from_dtype = dtypes[fr_random_below(&random, 4)];
        const fr_dtype to_dtype = dtypes[fr_random_below(&random, 4)];
        const fr_tensor from = random_view(&random, &from_block, shape, rank, from_dtype, true);
        fr_tensor to = random_view(&random, &to_block, shape, rank, to_dtype, false);
        const int64_t n_from = fr_tensor_count(&from_block), n_to = fr_tensor_count(&to_block);
        double *values;
        assert_int_equal(
            fr_alloc((size_t)(n_from > n_to ? n_from : n_to), sizeof *values, "values", &values),
            FR_OK);
        for (int64_t i = 0; i < n_from; i++)
            values[i] = (double)((i * 37) % 100);
        assert_int_equal(fr_convert(FR_F64, values, from_dtype, from_block.data, n_from), FR_OK);
        for (int64_t i = 0; i < n_to; i++)
            values[i] = -7;
        assert_int_equal(fr_convert(FR_F64, values, to_dtype, to_block.data, n_to), FR_OK);

        assert_int_equal(fr_tensor_copy(&from, &to), FR_OK);
        int64_t index[FR_MAX_RANK] = {0}, n_copied = 0, n_untouched = 0;
        do {
            assert_true(value_at(&from, index) == value_at(&to, index));
            n_copied++;
        } while (next_index(&from, index));
        for (int64_t i = 0; i < n_to; i++)
            n_untouched += value_at(&to_block, &i) == -7;
        assert_int_equal(n_copied + n_untouched, n_to);
        fr_free(values);
        fr_tensor_release(&from_block);
        fr_tensor_release(&to_block);
    }
}

static void copies_between_unequal_shapes_are_refused(void **state)
{
    (void)state;
    float data[12];
    fr_tensor a, b;
    assert_int_equal(fr_tensor_view(FR_F32, 2, (int64_t[]){3, 4}, data, &a), FR_OK);
    assert_int_equal(fr_tensor_view(FR_F32, 2, (int64_t[]){4, 3}, data, &b), FR_OK);
    assert_int_equal(fr_tensor_copy(&a, &b), FR_ESHAPE);
    assert_string_equal(fr_error_message(), "copy: f32 3x4 into f32 4x3");
    assert_int_equal(fr_tensor_view(FR_F32, 1, (int64_t[]){3}, data, &b), FR_OK);
    assert_int_equal(fr_tensor_copy(&a, &b), FR_ESHAPE);
}

static void creation_without_memory_leaves_nothing(void **state)
{
    (void)state;
    const int64_t before = fr_live_blocks();
    int64_t n = 0;
    for (;; n++) {
        fr_tensor x = {.rank = 3};
        fr_alloc_fail_at(n);
        const fr_status status = fr_tensor_create(FR_F32, 2, (int64_t[]){3, 4}, &x);
        fr_alloc_fail_at(-1);
        if (status == FR_OK) {
            fr_tensor_release(&x);
            break;
        }
        assert_int_equal(status, FR_ENOMEM);
        assert_null(x.data);
        assert_int_equal(fr_live_blocks(), before);
    }
    assert_true(n > 0);
    assert_int_equal(fr_live_blocks(), before);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(dtypes_have_their_names_and_bytes),
    cmocka_unit_test(a_new_tensor_is_zeroed_aligned_and_row_major),
    cmocka_unit_test(scalars_and_empty_tensors_are_tensors),
    cmocka_unit_test(sizes_that_make_no_tensor_are_refused),
    cmocka_unit_test(text_names_dtype_and_sizes_and_never_overruns),
    cmocka_unit_test(contiguity_ignores_strides_that_are_never_walked),
    cmocka_unit_test(strided_copies_move_every_element_and_no_other),
    cmocka_unit_test(copies_between_unequal_shapes_are_refused),
    cmocka_unit_test(creation_without_memory_leaves_nothing),
};
FR_TEST_MAIN(tests)
