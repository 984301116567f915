/*
 * test_main.h: what every cmocka test program starts from.
 *
 * FR_TEST_MAIN(tests) defines main: with an argument it runs the test of that name only (that is how CTest gives each test a
 * process of its own), without one all of them.
 */
#ifndef FR_TEST_MAIN_H
#define FR_TEST_MAIN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/** The seed of random tests: FR_TEST_SEED, or one of the clock; printed, so that a failure can be run again. */
static inline uint64_t fr_test_seed(void)
{
    static uint64_t seed;
    if (seed != 0)
        return seed;
    const char *given = getenv("FR_TEST_SEED");
    seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL) * 2654435761U ^ (uint64_t)getpid();
    printf("FR_TEST_SEED=%" PRIu64 "\n", seed);
    return seed;
}

/** Path of a file under the test data; NULL where the data or the file is absent: then skip(). */
static inline const char *fr_test_data(const char *relative)
{
    static char path[4096];
    const char *folder = getenv("FR_DATA");
    if (folder == NULL)
        return NULL;
    (void)snprintf(path, sizeof path, "%s/%s", folder, relative);
    if (access(path, R_OK) != 0) {
        printf("%s is not there: skipped\n", relative);
        return NULL;
    }
    return path;
}

/** A fresh folder for one test under the system's temporary folder; the caller removes it. */
static inline const char *fr_test_folder(void)
{
    static char path[4096];
    const char *base = getenv("TMPDIR");
    (void)snprintf(path, sizeof path, "%s/frugal-test-XXXXXX", base != NULL ? base : "/tmp");
    assert_non_null(mkdtemp(path));
    return path;
}

static inline int fr_test_run(const struct CMUnitTest *tests, size_t n, int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < n; i++)
        if (strcmp(tests[i].name, argv[1]) == 0)
            return _cmocka_run_group_tests(argv[1], &tests[i], 1, NULL, NULL);
    if (argc > 1) {
        (void)fprintf(stderr, "no test is called %s\n", argv[1]);
        return 2;
    }
    return _cmocka_run_group_tests("all", tests, n, NULL, NULL);
}

#define FR_TEST_MAIN(tests)                                                                        \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        return fr_test_run(tests, sizeof(tests) / sizeof *(tests), argc, argv);                    \
    }

#endif
