// SPDX-License-Identifier: MIT
// Spans entered by hand that an exception leaves without an exit, and scopes that it does not.
#include <cstdlib>
#include <stdexcept>

#include "spantrace.h"

static volatile int sink;

__attribute__((noinline)) static void by_hand()
{
	SPAN_ENTER(throws, lost);
	sink = sink + 1;
	if (sink > 0)
		throw std::runtime_error("out of it");
	SPAN_EXIT(throws, lost);
}

__attribute__((noinline)) static void by_scope()
{
	SPAN_SCOPE(throws, scope);
	sink = sink + 1;
	if (sink > 0)
		throw std::runtime_error("out of it");
}

int main(int argc, char **argv)
{
	int times = argc > 1 ? atoi(argv[1]) : 100;

	for (int i = 0; i < times; i++) {
		SPAN_SCOPE(throws, turn);
		try {
			by_scope();
		} catch (const std::exception &) {
			sink = sink + 1;
		}
		try {
			by_hand();
		} catch (const std::exception &) {
			sink = sink + 1;
		}
	}
	return 0;
}
