/* A platform without means of confinement: it refuses every request. See README.md. */
#include <errno.h>
#include <unistd.h>

#include "platform/box.h"
#include "platform/limits.h"
#include "platform/platform.h"

static int refuse(struct error *e)
{
        return error_set(e, ENOTSUP,
                         "this build of ringwall supports no platform and can confine nothing; build it with "
                         "-Dplatform=linux");
}

/* --- what this machine can do --- */

void platform_probe(struct probe_report *ret)
{
        *ret = (struct probe_report){ 0 };
        for (enum feature_id id = 0; id < FEATURE_COUNT; id++)
                feature_set(ret, id, FEATURE_NO, ENOTSUP, "this build of ringwall supports no platform");
}

int platform_check_plan(const struct plan *plan, struct error *e)
{
        (void)plan;
        return refuse(e);
}

bool platform_enforces_names(const struct plan *plan)
{
        (void)plan;
        return false;
}

int platform_find_left_out(const struct plan *plan, struct arena *a, struct left_out_grant **ret, size_t *ret_count,
                           struct error *e)
{
        (void)plan;
        (void)a;
        (void)ret;
        (void)ret_count;
        return refuse(e);
}

bool platform_may_alias(const char *directory, const char *path)
{
        (void)directory;
        (void)path;
        return true; /* the mounts are not known */
}

/* --- what is enforced: nothing --- */

const char *platform_wall_name(size_t index)
{
        (void)index;
        return NULL;
}

void platform_describe_wall(size_t index, const struct enforced_state *state, struct text *out)
{
        (void)index;
        (void)state;
        (void)out;
}

bool platform_describe_call(int number, const char **ret_call, const char **ret_group)
{
        (void)number;
        (void)ret_call;
        (void)ret_group;
        return false;
}

/* --- our own processes --- */

int platform_restrict_self(const struct plan *plan, struct error *e)
{
        (void)plan;
        return refuse(e);
}

int platform_restrict_to_network(struct error *e)
{
        return refuse(e);
}

int platform_enter_nested_domain(void)
{
        return 0; /* no process is confined, so there is no domain to leave */
}

pid_t platform_vfork(int (*run)(void *data), void *data)
{
        pid_t pid = vfork();
        if (pid == 0)
                _exit(run(data));
        return pid;
}

/* --- limits.h --- */

int resource_group_make(const struct plan *plan, struct resource_group **ret, struct error *e)
{
        (void)plan;
        *ret = NULL;
        return refuse(e);
}

void resource_group_read(const struct resource_group *g, struct resource_usage *ret)
{
        (void)g;
        *ret = (struct resource_usage){ 0 };
}

void resource_group_remove(struct resource_group *g)
{
        (void)g;
}

/* --- box.h --- */

int box_scratch_name(char ret[SCRATCH_LENGTH], struct error *e)
{
        *ret = '\0';
        return refuse(e);
}

int launch_box(const struct launch_request *request, struct box *ret, struct error *e)
{
        (void)request;
        *ret = (struct box){ .pid = -1, .pidfd = -1, .control = -1 };
        return refuse(e);
}

ssize_t box_receive(const struct box *box, struct box_message *ret, int *ret_fd)
{
        (void)box;
        (void)ret;
        *ret_fd = -1;
        return -ENOTSUP;
}

void box_close_fds(struct box *box)
{
        (void)box;
}

void box_kill(struct box *box)
{
        (void)box;
}
