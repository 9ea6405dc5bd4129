/* SPDX-License-Identifier: MIT */
/* Messages to people: stderr, one line each, "spantrace: " in front, level chosen by --log-level, -q and -v.
 * A message names the thing and, where there is one, the fix. Where stderr is the journal, which knows the name itself,
 * the level stands in front as the journal reads it: "<4>". */
#ifndef SPANTRACE_LOG_H
#define SPANTRACE_LOG_H

enum log_level { LOG_ERROR, LOG_NOTE, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* What is printed: LOG_WARN and above unless changed. */
extern enum log_level log_threshold;

/* Where the mistakes that follow stand: line LINE of FILE, which is borrowed, in front of each message. NULL: nowhere. */
void log_set_place(const char *file, unsigned line);
/* Looks whether stderr is the journal. Until then it is not. */
void log_find_journal(void);

/* Control characters in the text, which may come from a target, are shown as '?'. */
__attribute__((format(printf, 2, 3))) void log_at(enum log_level level, const char *format, ...);

#define log_error(...) log_at(LOG_ERROR, __VA_ARGS__)
#define log_note(...)  log_at(LOG_NOTE, __VA_ARGS__) /* what was done, to who asked for it */
#define log_warn(...)  log_at(LOG_WARN, __VA_ARGS__)
#define log_info(...)  log_at(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_at(LOG_DEBUG, __VA_ARGS__)

#endif
