/*
 * initializer.c: how parameters and states start.
 *
 * A random number depends on (seed, parameter's name, element): adding a layer to a model leaves
 * the others' start as it was, and f32 is f64 rounded. Sources: Glorot and Bengio, AISTATS 2010; He
 * et al., ICCV 2015.
 */
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/random.h"
#include "program/program_body.h"

/* What a matrix is fed by and feeds: its last two dims; a vector feeds only. */
static void find_fans(const fr_shape *shape, double *in, double *out)
{
    *in = *out = 1;
    if (shape->rank == 0)
        return;
    *out = (double)shape->dims[shape->rank - 1].size;
    if (shape->rank > 1)
        *in = (double)shape->dims[shape->rank - 2].size;
}

/* The range [low, low + width) of the uniform kinds. */
static void find_range(const fr_value_record *record, double *low, double *width)
{
    const fr_initializer *from = &record->initializer;
    double in, out, half = 0;
    find_fans(&record->type.shape, &in, &out);
    *low = from->a;
    *width = from->b - from->a;
    if (from->kind == FR_INIT_GLOROT)
        half = from->a * sqrt(6 / (in + out)); /* a sqrt(6 / (fan_in + fan_out)) */
    else if (from->kind == FR_INIT_KAIMING)
        half = sqrt(3.0) * sqrt(2 / ((1 + from->a * from->a) * in));
    else
        return;
    *low = -half;
    *width = 2 * half;
}

static void put(fr_dtype dtype, void *data, int64_t i, double number)
{
    if (dtype == FR_F32)
        ((float *)data)[i] = (float)number;
    else
        ((double *)data)[i] = number;
}

static int64_t element_count(const fr_shape *shape)
{
    int64_t count = 1;
    for (int d = 0; d < shape->rank; d++)
        count *= shape->dims[d].size;
    return count;
}

void fr_initialize(const fr_value_record *record, uint64_t seed, void *data)
{
    const int64_t count = element_count(&record->type.shape);
    const fr_dtype dtype = record->type.dtype;
    const fr_initializer *from = &record->initializer;
    if (from->kind == FR_INIT_ZERO) {
        memset(data, 0, (size_t)count * fr_dtype_bytes(dtype));
        return;
    }
    if (from->kind == FR_INIT_CONSTANT) {
        for (int64_t i = 0; i < count; i++)
            (void)fr_convert(FR_F64, &from->a, dtype,
                             (char *)data + (size_t)i * fr_dtype_bytes(dtype), 1);
        return;
    }
    double low = 0, width = 0;
    find_range(record, &low, &width);
    const uint64_t name = fr_hash(record->name, strlen(record->name), 0);
    fr_random random = fr_random_start(seed, fr_random_stream(0x696e6974 /* "init" */, name, 0, 0));
    for (int64_t i = 0; i < count; i++)
        put(dtype, data, i,
            from->kind == FR_INIT_NORMAL ? from->a + from->b * fr_random_normal(&random)
                                         : low + width * fr_random_uniform(&random));
}
