/* SPDX-License-Identifier: MIT */
/* Arrays that grow by doubling, without a field for their capacity: it is the power of two at or
 * above the number of elements. Only for arrays that start as NULL and grow one element at a
 * time. */
#ifndef SPANTRACE_GROW_H
#define SPANTRACE_GROW_H

#include <errno.h>
#include <stdlib.h>

/* Makes room for element N of ITEMS. 0, or -ENOMEM with ITEMS as it was. */
#define GROW(items, n)                                                                     \
	({                                                                                 \
		int grow_err_ = 0;                                                         \
		size_t grow_n_ = (n);                                                      \
                                                                                           \
		if ((grow_n_ & (grow_n_ - 1)) == 0) {                                      \
			void *grow_new_ = reallocarray((items), grow_n_ ? grow_n_ * 2 : 1, \
						       sizeof(*(items)));                  \
                                                                                           \
			if (grow_new_)                                                     \
				(items) = grow_new_;                                       \
			else                                                               \
				grow_err_ = -ENOMEM;                                       \
		}                                                                          \
		grow_err_;                                                                 \
	})

#endif
