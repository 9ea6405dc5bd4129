// SPDX-License-Identifier: MIT
// C++: objects by every operator new, and one that throws because there is not that much memory. Says
//   cxx:news OBJECTS BYTES
//
//   throws_alloc [N [THROWS]]
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "spantrace.h"

namespace
{
struct alignas(64) wide {
	char bytes[192];
};

volatile std::size_t far_too_much = PTRDIFF_MAX - 4096;
volatile unsigned long caught;
} // namespace

int main(int argc, char **argv)
{
	unsigned long n = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 100;
	unsigned long throws = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : n;

	SPAN_ENTER(cxx, news);
	for (unsigned long i = 0; i < n; i++) {
		delete static_cast<int *>(::new int(7));
		delete[] ::new char[100];
		delete ::new wide;
		::operator delete(::operator new(50, std::nothrow));
	}
	SPAN_EXIT(cxx, news);
	/* The exception itself takes memory, that is why it is elsewhere. */
	SPAN_ENTER(cxx, throws);
	for (unsigned long i = 0; i < throws; i++) {
		try {
			::operator delete(::operator new(far_too_much));
		} catch (const std::bad_alloc &) {
			caught++;
		}
	}
	SPAN_EXIT(cxx, throws);
	if (caught != throws)
		return 4;
	std::printf("cxx:news %lu %lu\n", 4 * n, n * (sizeof(int) + 100 + sizeof(wide) + 50));
	return 0;
}
