// SPDX-License-Identifier: MIT
/* SPAN_SCOPE in C++: exceptions, templates, lambdas, constructors, destructors, and all that C has.
 *
 * markers:
 *   app:f__enter
 *   app:f__exit
 *   app:same__enter
 *   app:same__exit
 *   app:loop__enter
 *   app:loop__exit
 *   app:thrower__enter
 *   app:thrower__exit
 *   app:caught__enter
 *   app:caught__exit
 *   app:typed__enter
 *   app:typed__exit
 *   app:lambda__enter -8 semaphore keys x
 *   app:lambda__exit
 *   app:construct__enter
 *   app:construct__exit
 *   app:destroy__enter
 *   app:destroy__exit
 *   app:inl__enter
 *   app:inl__exit
 *
 * trace:
 *   app:f__enter
 *   app:same__enter
 *   app:same__enter
 *   app:same__exit
 *   app:same__exit
 *   app:f__exit
 *   app:loop__enter
 *   app:loop__exit
 *   app:loop__enter
 *   app:loop__exit
 *   app:loop__enter
 *   app:loop__exit
 *   app:caught__enter
 *   app:thrower__enter
 *   app:thrower__exit
 *   app:caught__exit
 *   app:typed__enter
 *   app:typed__exit
 *   app:typed__enter
 *   app:typed__exit
 *   app:lambda__enter 5
 *   app:lambda__exit
 *   app:construct__enter
 *   app:construct__exit
 *   app:destroy__enter
 *   app:destroy__exit
 *   app:inl__enter
 *   app:inl__exit
 */
#include <spantrace.h>

#include <stdexcept>

namespace
{

__attribute__((noinline)) int f(int x)
{
	SPAN_SCOPE(app, f);
	SPAN_SCOPE(app, same);
	SPAN_SCOPE(app, same);
	if (x & 1)
		return x * 3;
	return x + 1;
}

int loop(int x)
{
	int i;

	for (i = 0; i < 10; i++) {
		SPAN_SCOPE(app, loop);
		if (i == x)
			break;
		if (i == 1)
			continue;
	}
	return i;
}

__attribute__((noinline)) void thrower(int x)
{
	SPAN_SCOPE(app, thrower);
	if (x)
		throw std::runtime_error("on purpose");
}

int caught(int x)
{
	SPAN_SCOPE(app, caught);
	try {
		thrower(x);
	} catch (const std::runtime_error &) {
		return 1;
	}
	return 0;
}

template <typename T> T typed(T x)
{
	SPAN_SCOPE(app, typed);
	return x;
}

class object
{
      public:
	object()
	{
		SPAN_SCOPE(app, construct);
	}
	~object()
	{
		SPAN_SCOPE(app, destroy);
	}
	object(const object &) = delete;
	object &operator=(const object &) = delete;
};

} // namespace

inline int inl(int x)
{
	SPAN_SCOPE(app, inl);
	return x;
}

int main(int argc, char **)
{
	int sum = f(argc) + loop(argc + 1) + caught(argc) + typed(argc);

	sum += static_cast<int>(typed(1L));
	const auto lambda = [sum](int x) {
		SPAN_SCOPE_ARGS(app, lambda, x, x);
		return x + sum;
	};
	sum = lambda(5);
	{
		object o;
	}
	return sum + inl(0) == 3 + 2 + 1 + 1 + 1 + 5 ? 0 : 1;
}
