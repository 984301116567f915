/*
 * frugal.h: all of Frugal's public headers.
 *
 * Each header opens with what it is for and a program of ten lines. Stable headers keep source
 * compatibility within a major version: status, tensor, store, train, graph. Advanced ones may
 * grow and change in a minor version: program (nodes, attributes, registry), expr, format, gnn.
 */
#ifndef FRUGAL_H
#define FRUGAL_H

#include <frugal/expr.h>
#include <frugal/format.h>
#include <frugal/gnn.h>
#include <frugal/graph.h>
#include <frugal/program.h>
#include <frugal/status.h>
#include <frugal/store.h>
#include <frugal/tensor.h>
#include <frugal/train.h>

#endif
