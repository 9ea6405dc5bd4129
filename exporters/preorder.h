/* SPDX-License-Identifier: MIT */
/* A tree given by parents, laid out depth first without recursion: stacks can be thousands deep. */
#ifndef SPANTRACE_PREORDER_H
#define SPANTRACE_PREORDER_H

#include "../include/types.h"

/* Node 0 is the root; PARENT[i] < i for every other. RANKED lists NRANKED nodes other than the root
 * in the order that siblings shall have; nodes left out (each with all below it) do not appear.
 * ORDER has room for NRANKED + 1 and gets the root and them depth first. 0 or -ENOMEM. */
int preorder(u32 nnodes, const u32 *parent, u32 nranked, const u32 *ranked, u32 *order);

#endif
