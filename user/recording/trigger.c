/* SPDX-License-Identifier: MIT */
/* See trigger.h. */
#include "trigger.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "../util/log.h"
#include "../util/units.h"

#define NAME_MAX_LENGTH 255u

int trigger_parse(const char *text, struct trigger *out)
{
	/* The last one: a C++ name may hold others. */
	const char *greater = strrchr(text, '>');
	struct trigger trigger = {.text = text};

	if (!greater || greater == text || !greater[1]) {
		log_error("--trigger: \"%s\" is not NAME>DURATION; write 'app:job>50ms', in quotes",
			  text);
		return -EINVAL;
	}
	trigger.length = (size_t)(greater - text);
	if (trigger.length > NAME_MAX_LENGTH) {
		log_error(
			"--trigger: the name of \"%s\" is longer than %u bytes; use * for a part of it",
			text, NAME_MAX_LENGTH);
		return -EINVAL;
	}
	if (units_parse_duration(greater + 1, &trigger.longer_ns)) {
		log_error("--trigger: \"%s\" is not a duration; write 'app:job>50ms'", greater + 1);
		return -EINVAL;
	}
	*out = trigger;
	return 0;
}

static bool trigger_matches(const struct trigger *trigger, const struct model_path *path)
{
	const char *name = path->name ? path->name : path->def->name;
	char glob[NAME_MAX_LENGTH + 1], *colon;

	memcpy(glob, trigger->text, trigger->length);
	glob[trigger->length] = '\0';
	colon = strchr(glob, ':');
	if (!colon)
		return fnmatch(glob, name, 0) == 0;
	*colon = '\0';
	return fnmatch(glob, path->def->provider, 0) == 0 && fnmatch(colon + 1, name, 0) == 0;
}

const struct trigger *trigger_of(const struct trigger *triggers, size_t n,
				 const struct model_span *span)
{
	u64 wall = span->end_ns > span->start_ns ? span->end_ns - span->start_ns : 0;
	size_t i;

	if (span->flags & (MODEL_SEGMENT | MODEL_OPEN) || !span->path->def)
		return NULL;
	/* The time first: it rules out nearly every span. */
	for (i = 0; i < n; i++)
		if (wall > triggers[i].longer_ns && trigger_matches(&triggers[i], span->path))
			return &triggers[i];
	return NULL;
}
