/*
 * commands.h: the subcommands, a line each, in the order of help; groups stand together.
 */
#ifndef FR_CLI_COMMANDS_H
#define FR_CLI_COMMANDS_H

#include "cli/command.h"

#define CLI_COMMANDS(X)                                                                            \
    X(command_doctor)                                                                              \
    X(command_demo)                                                                                \
    X(command_data_synth)                                                                          \
    X(command_data_import)                                                                         \
    X(command_data_info)                                                                           \
    X(command_data_verify)                                                                         \
    X(command_gnn_train)                                                                           \
    X(command_gnn_eval)                                                                            \
    X(command_gnn_infer)                                                                           \
    X(command_gnn_bench)

#define COMMAND_DECLARATION(symbol) extern const command symbol;
CLI_COMMANDS(COMMAND_DECLARATION)
#undef COMMAND_DECLARATION

#endif
