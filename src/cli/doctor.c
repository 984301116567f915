/*
 * doctor.c: frugal doctor: what this machine has, what is missing and how to get it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/json.h"
#include "base/parallel.h"
#include "base/progress.h"
#include "cli/commands.h"
#include "kernel/cpu.h"

static bool is_on_path(const char *program)
{
    const char *path = getenv("PATH");
    char file[4096];
    while (path != NULL && *path != '\0') {
        const size_t length = strcspn(path, ":");
        const int n = snprintf(file, sizeof file, "%.*s/%s", (int)length, path, program);
        if (n > 0 && (size_t)n < sizeof file && access(file, X_OK) == 0)
            return true;
        path += length;
        path += *path == ':';
    }
    return false;
}

static int run_doctor(const arguments *a)
{
    if (is_given(a, "operators"))
        return report(fr_operators_print(stdout));
    struct sysinfo memory = {0};
    (void)sysinfo(&memory);
    const int64_t total = (int64_t)memory.totalram * memory.mem_unit, free_now = (int64_t)memory.freeram * memory.mem_unit;
    const bool gnuplot = is_on_path("gnuplot"), compiler = is_on_path("cc");
    if (a->json) {
        fr_json *json = fr_json_object();
        fr_json_add_string(json, "cpu", fr_cpu_name());
        fr_json_add_string(json, "instruction_set", fr_isa_name(fr_cpu_isa()));
        fr_json_add_bool(json, "bf16", fr_cpu_has_bf16());
        fr_json_add_int(json, "threads", fr_threads());
        fr_json_add_int(json, "memory", total);
        fr_json_add_bool(json, "gnuplot", gnuplot);
        fr_json_add_bool(json, "compiler", compiler);
        print_event("done", json);
        return EXIT_DONE;
    }
    char all[32], unused[32];
    (void)printf("processor        %s\n", fr_cpu_name());
    (void)printf("instruction set  %s%s\n", fr_isa_name(fr_cpu_isa()), fr_cpu_has_bf16() ? ", bf16" : "");
    (void)printf("threads          %d\n", fr_threads());
    (void)printf("memory           %s, %s free\n", fr_bytes_text(total, all, sizeof all), fr_bytes_text(free_now, unused, sizeof unused));
    (void)printf("store tiers      ram\n");
    (void)printf("gnuplot          %s\n", gnuplot ? "found: runs get pictures" : "missing: no pictures; on Debian: apt-get install gnuplot-nox");
    (void)printf("C compiler       %s\n", compiler ? "found" : "missing; on Debian: apt-get install gcc");
    return EXIT_DONE;
}

static const option_spec doctor_options[] = {
    {"operators", NULL, "list the operators of programs", NULL},
    {NULL, NULL, NULL, NULL},
};

const command command_doctor = {
    .name = "doctor",
    .operands = "",
    .least = 0,
    .most = 0,
    .summary = "what this machine has, what is missing and how to get it",
    .description = "",
    .example = "frugal doctor",
    .options = doctor_options,
    .run = run_doctor,
};
