// SPDX-License-Identifier: MIT
// SPAN_SCOPE in C++: however a block is left, its span ends with it.
//
//	demo:outer                       one for each --spans
//	  demo:early                     left by return
//	  demo:loop                      --loops of them, left by continue and, the last, by break
//	  demo:thrower                   left by an exception in every second outer
//	  demo:load                      in a template, for two types; label: bytes
//	  demo:lambda                    in a lambda
//	  demo:construct                 in a constructor
//	  demo:destroy                   in a destructor
//	  demo:first;demo:second         two in one block
#include <cstdio>
#include <stdexcept>
#include <string>

#include "example.h"
#include "spantrace.h"

namespace
{

long spans = 1000, loops = 3, work_us = 1, wait_first;

const example_option options[] = {
	{"--spans", &spans, "outer spans to make"},
	{"--loops", &loops, "turns of the loop"},
	{"--work-us", &work_us, "microseconds of work in the load span"},
	{"--wait", &wait_first, "1: wait for a line of input first"},
};

long long load_ns;

long early(long number)
{
	SPAN_SCOPE(demo, early);
	if (number % 2)
		return number * 3;
	return number + 1;
}

void loop()
{
	for (long i = 1; i <= loops; i++) {
		SPAN_SCOPE(demo, loop);
		if (i == loops)
			break;
		continue;
	}
}

void thrower(long number)
{
	SPAN_SCOPE(demo, thrower);
	if (number % 2)
		throw std::runtime_error("on purpose");
}

template <typename T> void load(const T &value)
{
	SPAN_SCOPE_ARGS(demo, load, bytes, sizeof(value));
	const long long start = example_now();
	example_work(work_us);
	load_ns += example_now() - start;
}

struct resource {
	resource()
	{
		SPAN_SCOPE(demo, construct);
	}
	~resource()
	{
		SPAN_SCOPE(demo, destroy);
	}
	resource(const resource &) = delete;
	resource &operator=(const resource &) = delete;
};

void two()
{
	SPAN_SCOPE(demo, first);
	SPAN_SCOPE(demo, second);
}

long outer(long number)
{
	SPAN_SCOPE(demo, outer);
	long result = early(number);

	loop();
	try {
		thrower(number);
	} catch (const std::runtime_error &) {
		result++;
	}
	load(number);
	load(std::string("text"));
	[&result] {
		SPAN_SCOPE(demo, lambda);
		result++;
	}();
	{
		resource r;
	}
	two();
	return result;
}

void print_truth()
{
	std::printf("truth demo:outer %ld\n", spans);
	std::printf("truth demo:outer;demo:early %ld\n", spans);
	if (loops)
		std::printf("truth demo:outer;demo:loop %ld\n", spans * loops);
	std::printf("truth demo:outer;demo:thrower %ld\n", spans);
	std::printf("truth demo:outer;demo:load %ld\n", spans * 2);
	std::printf("truth demo:outer;demo:lambda %ld\n", spans);
	std::printf("truth demo:outer;demo:construct %ld\n", spans);
	std::printf("truth demo:outer;demo:destroy %ld\n", spans);
	std::printf("truth demo:outer;demo:first %ld\n", spans);
	std::printf("truth demo:outer;demo:first;demo:second %ld\n", spans);
	std::printf("time demo:outer;demo:load %lld\n", load_ns);
}

} // namespace

int main(int argc, char **argv)
{
	volatile long sum = 0;

	example_options(argc, argv, options, sizeof(options) / sizeof(*options));
	example_wait(wait_first);
	for (long i = 0; i < spans; i++)
		sum = sum + outer(i);
	print_truth();
	return 0;
}
