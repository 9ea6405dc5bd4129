/* SPDX-License-Identifier: MIT */
/* The table of pair_rules.h. Each entry says what would go wrong without it. */
#include "pair_rules.h"

/* Objects that one thread makes and another releases, known by their address. */
#define LIBVIRT_OBJECT(stem)                                                                \
	{                                                                                   \
		.provider = "libvirt", .name = stem, .kind = MODEL_ASYNC_SPAN, .id_arg = 0, \
		.starts = {stem "_new"}, .ends = {stem "_dispose"},                         \
	}

const struct pair_rule pair_rules[] = {
	/* A transaction begins inside one query's span and ends inside another's: its virtual
	 * transaction number, not the thread's stack, tells which. */
	{
		.provider = "postgresql",
		.name = "transaction",
		.kind = MODEL_ASYNC_SPAN,
		.id_arg = 0,
		.starts = {"transaction__start"},
		.ends = {"transaction__commit", "transaction__abort"},
	},
	/* __exit fires when a contended monitor is released, whoever holds it: no end of
	 * __enter. */
	{
		.provider = "hotspot",
		.name = "monitor__contended",
		.kind = MODEL_THREAD_SPAN,
		.starts = {"monitor__contended__enter"},
		.ends = {"monitor__contended__entered"},
	},
	{
		.provider = "hotspot",
		.name = "monitor__wait",
		.kind = MODEL_THREAD_SPAN,
		.starts = {"monitor__wait"},
		.ends = {"monitor__waited"},
	},
	/* Six ways out. __clinit, in between, stays an event. */
	{
		.provider = "hotspot",
		.name = "class__initialization",
		.kind = MODEL_THREAD_SPAN,
		.starts = {"class__initialization__required"},
		.ends = {"class__initialization__end", "class__initialization__error",
			 "class__initialization__erroneous", "class__initialization__super__failed",
			 "class__initialization__concurrent", "class__initialization__recursive"},
	},
	/* One collection opens every pool at once: keyed by the pool's name, a string that stays
	 * put. */
	{
		.provider = "hotspot",
		.name = "mem__pool__gc",
		.kind = MODEL_ASYNC_SPAN,
		.id_arg = 2,
		.starts = {"mem__pool__gc__begin"},
		.ends = {"mem__pool__gc__end"},
	},
	{
		.provider = "stap",
		.name = "pass1",
		.kind = MODEL_THREAD_SPAN,
		.starts = {"pass1a__start", "pass1b__start"},
		.ends = {"pass1__end"},
	},
	{
		.provider = "sssd",
		.name = "sysdb_transaction",
		.kind = MODEL_THREAD_SPAN,
		.starts = {"sysdb_transaction_start"},
		.ends = {"sysdb_transaction_commit_after", "sysdb_transaction_cancel"},
	},
	LIBVIRT_OBJECT("object"),
	LIBVIRT_OBJECT("rpc_client"),
	LIBVIRT_OBJECT("rpc_server_client"),
	LIBVIRT_OBJECT("rpc_socket"),
	LIBVIRT_OBJECT("rpc_tls_context"),
	LIBVIRT_OBJECT("rpc_tls_session"),
	/* Nearly every return would be an exit without an enter. */
	{
		.provider = "python",
		.name = "function",
		.kind = MODEL_EVENT,
		.starts = {"function__entry"},
		.ends = {"function__return"},
		.why = "CPython 3.11 hardly fires function__entry (gh-98894); pair them with --span where yours does",
	},
};

const size_t pair_nrules = sizeof(pair_rules) / sizeof(pair_rules[0]);
