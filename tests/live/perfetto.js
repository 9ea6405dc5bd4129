// SPDX-License-Identifier: MIT
// Asks Perfetto's trace_processor, as WebAssembly, what it made of files:
//
//   node perfetto.js FOLDER      FOLDER holds engine_bundle.js and trace_processor.wasm
//
// Each line of input is a question, {"file": PATH, "queries": [SQL…]}, each line of output its answer, {"rows": …}: for
// each SQL its rows, each an array; numbers of more than 53 bits are strings. Or {"error": TEXT}. The engine starts once.
"use strict";
const fs = require("fs");
const path = require("path");

const node = global.process;
const readline = require("readline");
const folder = process.argv[2];

// --- protobuf, as much as the engine's own protocol needs ---------------------------------------------

function varint(value) {
	const bytes = [];
	let rest = BigInt(value);

	for (; rest >= 128n; rest >>= 7n)
		bytes.push(Number(rest & 127n) | 128);
	bytes.push(Number(rest));
	return Buffer.from(bytes);
}

function bytesField(number, bytes) {
	return Buffer.concat([varint(number << 3 | 2), varint(bytes.length), bytes]);
}

function numberField(number, value) {
	return Buffer.concat([varint(number << 3), varint(value)]);
}

class Reader {
	constructor(bytes) {
		this.bytes = bytes;
		this.at = 0;
	}
	varint() {
		let value = 0n, shift = 0n, byte;

		do {
			byte = this.bytes[this.at++];
			value |= BigInt(byte & 127) << shift;
			shift += 7n;
		} while (byte & 128);
		return value;
	}
	*fields() {
		while (this.at < this.bytes.length) {
			const tag = Number(this.varint()), number = tag >> 3;

			if ((tag & 7) === 0) {
				yield [number, this.varint()];
			} else if ((tag & 7) === 1) {
				yield [number, this.bytes.subarray(this.at, this.at += 8)];
			} else if ((tag & 7) === 2) {
				const length = Number(this.varint());

				yield [number, this.bytes.subarray(this.at, this.at += length)];
			} else {
				throw new Error(`wire type ${tag & 7}`);
			}
		}
	}
}

// --- the engine ----------------------------------------------------------------------------------------

const APPEND = 1, FINALIZE = 2, QUERY = 3, RESET = 11;
const replies = [];
let pending = Buffer.alloc(0);
let engine;

// Replies come in pieces that have nothing to do with messages.
function onBytes(bytes) {
	pending = Buffer.concat([pending, Buffer.from(bytes)]);
	for (;;) {
		const reader = new Reader(pending);
		let length;

		if (pending.length < 2)
			return;
		reader.varint();
		length = Number(reader.varint());
		if (!(reader.at + length <= pending.length))
			return;
		replies.push(pending.subarray(reader.at, reader.at + length));
		pending = pending.subarray(reader.at + length);
	}
}

function ask(seq, request, ...fields) {
	const message = Buffer.concat([numberField(1, seq), numberField(2, request), ...fields]);

	replies.length = 0;
	engine.send(new Uint8Array(bytesField(1, message)));
	return replies.map((reply) => {
		const found = {};

		for (const [number, value] of new Reader(reply).fields())
			found[number] = value;
		if (found[5])
			throw new Error(`trace_processor: ${found[5]}`);
		return found;
	});
}

function plain(value) {
	const signed = BigInt.asIntN(64, value);

	return signed >= -(1n << 53n) && signed <= 1n << 53n ? Number(signed) : String(signed);
}

// The cells of one batch, appended to CELLS.
function readBatch(batch, cells) {
	const parts = {};
	const types = [], integers = [], doubles = [];
	let strings = [];

	for (const [number, value] of new Reader(batch).fields())
		parts[number] = value;
	for (const reader = new Reader(parts[1] || Buffer.alloc(0)); reader.at < reader.bytes.length;)
		types.push(Number(reader.varint()));
	for (const reader = new Reader(parts[2] || Buffer.alloc(0)); reader.at < reader.bytes.length;)
		integers.push(plain(reader.varint()));
	for (let at = 0; parts[3] && at < parts[3].length; at += 8)
		doubles.push(parts[3].readDoubleLE(at));
	if (parts[5])
		strings = parts[5].toString("utf8").split("\0");
	for (const type of types)
		cells.push(type === 2 ? integers.shift() : type === 3 ? doubles.shift() :
			type === 4 ? strings.shift() : null);
}

function query(seq, sql) {
	const cells = [];
	const rows = [];
	let columns = 0;

	for (const reply of ask(seq, QUERY, bytesField(103, bytesField(1, Buffer.from(sql))))) {
		for (const [number, value] of new Reader(reply[203]).fields()) {
			if (number === 1)
				columns++;
			else if (number === 2 && value.length)
				throw new Error(`${sql}: ${value}`);
			else if (number === 3)
				readBatch(value, cells);
		}
	}
	for (let at = 0; at < cells.length; at += columns)
		rows.push(cells.slice(at, at + columns));
	return rows;
}

// The bundle is a web worker: it finds one here.
function start() {
	const source = fs.readFileSync(path.join(folder, "engine_bundle.js"), "utf8");
	const port = {postMessage: onBytes};

	global.self = global;
	global.WorkerGlobalScope = function () {};
	global.location = {href: "http://worker/"};
	global.XMLHttpRequest = class {
		open(method, url) {
			this.name = path.basename(url);
		}
		send() {
			this.response = fs.readFileSync(path.join(folder, this.name));
		}
	};
	global.process = {...process, versions: {}};
	try {
		(0, eval)(source);
	} finally {
		global.process = node;
	}
	global.onmessage({data: port});
	engine = {send: (bytes) => port.onmessage({data: bytes})};
}

let seq = 0;

function answer(file, queries) {
	const data = fs.readFileSync(file);
	const size = 16 << 20;

	pending = Buffer.alloc(0);
	ask(seq++, RESET);
	for (let at = 0; at < data.length; at += size) {
		for (const reply of ask(seq++, APPEND, bytesField(101, data.subarray(at, at + size)))) {
			for (const [number, value] of new Reader(reply[201] || Buffer.alloc(0)).fields())
				if (number === 2)
					throw new Error(`${file}: ${value}`);
		}
	}
	ask(seq++, FINALIZE);
	return queries.map((sql) => query(seq++, sql));
}

function say(reply) {
	node.stdout.write(JSON.stringify(reply) + "\n");
}

async function main() {
	start();
	await new Promise(setImmediate);
	for await (const line of readline.createInterface({input: node.stdin})) {
		const question = JSON.parse(line);

		try {
			say({rows: answer(question.file, question.queries)});
		} catch (error) {
			say({error: error.stack});
		}
	}
}

main().catch((error) => {
	node.stderr.write(`${error.stack}\n`);
	node.exit(1);
});
