/* Diagnoses; see diagnosis.h. feature_set() has made all text printable, so it is written to JSON unchanged. */
#include "box/diagnosis.h"

#include <string.h>
#include <unistd.h>

#include "platform/platform.h"
#include "policy/keys.h"
#include "feature/feature.h"

void diagnosis_run(struct diagnosis *ret)
{
        *ret = (struct diagnosis){ .uid = geteuid() };
        (void)uname(&ret->kernel);
        platform_probe(&ret->report);
        for (enum level level = LEVEL_STANDARD; level <= LEVEL_MAXIMUM; level++)
                level_evaluate(level, &ret->report, &ret->levels[level]);
}

/* json_pack(): "o" takes over the reference, and the whole call fails if it is NULL; "s?" writes null for NULL. */

static json_t *feature_to_json(const struct feature *f)
{
        return json_pack("{s:s, s:s, s:s?, s:s?}", "state", feature_state_name(f->state), "detail", f->detail, "error",
                         f->error ? strerrorname_np(f->error) : NULL, "help", f->help);
}

static json_t *features_to_json(const struct probe_report *report)
{
        json_t *object = json_object();
        for (enum feature_id id = 0; object && id < FEATURE_COUNT; id++)
                if (json_object_set_new(object, feature_info(id)->key, feature_to_json(&report->features[id])) < 0) {
                        json_decref(object);
                        return NULL;
                }
        return object;
}

static json_t *requirements_to_json(const struct level_requirement *const *unmet, size_t count)
{
        json_t *array = json_array();
        for (size_t i = 0; array && i < count; i++) {
                json_t *item = json_pack("{s:s, s:s}", "feature", feature_info(unmet[i]->any_of[0])->key, "lost",
                                         unmet[i]->consequence);
                if (json_array_append_new(array, item) < 0) {
                        json_decref(array);
                        return NULL;
                }
        }
        return array;
}

static json_t *level_to_json(const struct level_result *result)
{
        return json_pack("{s:s, s:o, s:o, s:s?, s:s?}", "verdict", level_verdict_name(result->verdict), "shortfalls",
                         requirements_to_json(result->shortfalls, result->shortfall_count), "missing",
                         requirements_to_json(result->missing, result->missing_count), "remark", result->remark, "try",
                         result->help);
}

json_t *diagnosis_to_json(const struct diagnosis *d)
{
        return json_pack("{s:{s:s, s:s}, s:i, s:o, s:{s:o, s:o, s:o}}", "kernel", "release", d->kernel.release, "arch",
                         d->kernel.machine, "uid", (int)d->uid, "features", features_to_json(&d->report), "levels",
                         level_words[LEVEL_STANDARD], level_to_json(&d->levels[LEVEL_STANDARD]),
                         level_words[LEVEL_STRICT], level_to_json(&d->levels[LEVEL_STRICT]),
                         level_words[LEVEL_MAXIMUM], level_to_json(&d->levels[LEVEL_MAXIMUM]));
}
