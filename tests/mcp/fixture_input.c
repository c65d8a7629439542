/*
 * Modern servers ask nothing on their own: a result says what is wanted ("input_required"), and the client sends its request
 * again with the answers; see fixture.h.
 *
 * How it works: a row of the table has one or two rounds of questions. What was told in the first one is not kept here but
 * goes to the client and back, as `requestState`: JSON in base64, and behind it a seal (SipHash-2-4) that only this process
 * can make. A state with another seal is refused, and that is what the suite tries.
 */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/base64.h"
#include "base/json.h"

/* --- states --- */

static uint64_t seal_key[2];

bool prepare_seal(void)
{
        return getrandom(seal_key, sizeof seal_key, 0) == sizeof seal_key;
}

static uint64_t rotate(uint64_t v, int bits)
{
        return v << bits | v >> (64 - bits);
}

static void mix(uint64_t v[4], int rounds)
{
        while (rounds--) {
                v[0] += v[1];
                v[2] += v[3];
                v[1] = rotate(v[1], 13) ^ v[0];
                v[3] = rotate(v[3], 16) ^ v[2];
                v[0] = rotate(v[0], 32);
                v[2] += v[1];
                v[0] += v[3];
                v[1] = rotate(v[1], 17) ^ v[2];
                v[3] = rotate(v[3], 21) ^ v[0];
                v[2] = rotate(v[2], 32);
        }
}

static uint64_t seal_of(const char *bytes, size_t length)
{
        uint64_t v[] = { seal_key[0] ^ 0x736f6d6570736575, seal_key[1] ^ 0x646f72616e646f6d, seal_key[0] ^ 0x6c7967656e657261,
                         seal_key[1] ^ 0x7465646279746573 };
        for (size_t at = 0; at <= length; at += 8) { /* the last word is not full, and has the length in its highest byte */
                uint64_t word = at + 8 > length ? (uint64_t)length << 56 : 0;
                for (size_t i = 0; i < 8 && at + i < length; i++)
                        word |= (uint64_t)(unsigned char)bytes[at + i] << 8 * i;
                v[3] ^= word;
                mix(v, 2);
                v[0] ^= word;
        }
        v[2] ^= 0xff;
        mix(v, 4);
        return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* JSON, as words that come back unchanged or not at all. */
static json_t *seal_state(const json_t *state)
{
        CLEANUP_TEXT struct text plain = { 0 }, out = { 0 };
        if (json_write(state, &plain, false) < 0)
                return NULL;
        base64_encode(&out, plain.data, plain.length);
        text_format(&out, ".%016llx", (unsigned long long)seal_of(out.data, out.length));
        return json_string(out.data);
}

/* NULL when we never made it. */
static json_t *open_state(const char *sealed)
{
        const char *dot = strchr(sealed, '.');
        CLEANUP_TEXT struct text wanted = { 0 }, plain = { 0 };
        json_t *state = NULL;
        if (!dot)
                return NULL;
        text_format(&wanted, ".%016llx", (unsigned long long)seal_of(sealed, (size_t)(dot - sealed)));
        if (strcmp(wanted.data, dot) == 0 && base64_decode(&plain, sealed, (size_t)(dot - sealed)))
                (void)json_parse_bounded(plain.data, plain.length, MCP_MOST_BYTES, JSON_DEPTH_MAX, &state, NULL, NULL, NULL);
        return state;
}

/* --- what is asked --- */

#define ELICIT(message, key, type) \
        "{'method':'elicitation/create','params':{'message':'" message "','requestedSchema':{'type':'object'," \
        "'properties':{'" key "':{'type':'" type "'}},'required':['" key "']}}}"
#define SAMPLE(text) \
        "{'method':'sampling/createMessage','params':{'maxTokens':100,'messages':[{'role':'user'," \
        "'content':{'type':'text','text':'" text "'}}]}}"
#define ROOTS "{'method':'roots/list','params':{}}"
#define NAME ELICIT("What is your name?", "name", "string")
#define CONFIRM ELICIT("Please confirm", "ok", "boolean")

enum { ROUNDS = 2 };

static const struct asker {
        const char *name;
        bool state;                 /* answers need the state that went with the questions */
        const char *rounds[ROUNDS]; /* questions by their keys */
} askers[] = {
        { "test_missing_capability", false, { "{'question':" SAMPLE("Anything") "}" } },
        { "test_streaming_elicitation", false, { "{'confirm':" CONFIRM "}" } },
        { "test_input_required_result_elicitation", false, { "{'user_name':" NAME "}" } },
        { "test_input_required_result_sampling", false,
          { "{'capital_question':" SAMPLE("What is the capital of France?") "}" } },
        { "test_input_required_result_list_roots", false, { "{'client_roots':" ROOTS "}" } },
        { "test_input_required_result_request_state", true, { "{'confirm':" CONFIRM "}" } },
        { "test_input_required_result_tampered_state", true, { "{'confirm':" CONFIRM "}" } },
        { "test_input_required_result_multiple_inputs", true,
          { "{'user_name':" NAME ",'greeting':" SAMPLE("Generate a greeting") ",'client_roots':" ROOTS "}" } },
        { "test_input_required_result_multi_round", true,
          { "{'step1':" NAME "}", "{'step2':" ELICIT("What is your favorite color?", "color", "string") "}" } },
        { "test_input_required_result_capabilities", true, { "{'name':" NAME ",'sample':" SAMPLE("Anything") "}" } },
        { "test_input_required_result_prompt", false,
          { "{'user_context':" ELICIT("What context should the prompt use?", "context", "string") "}" } },
};

static const struct asker *find_asker(const struct exchange *x)
{
        const char *name = json_string_value(json_object_get(x->message.params, "name"));
        size_t i = 0;
        while (i + 1 < ARRAY_SIZE(askers) && strcmp(askers[i].name, name) != 0)
                i++;
        return &askers[i];
}

static const char *capability_of(const char *method)
{
        static const char *const names[][2] = {
                { "elicitation/create", "elicitation" }, { "sampling/createMessage", "sampling" }, { "roots/list", "roots" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (strcmp(names[i][0], method) == 0)
                        return names[i][1];
        return "";
}

/* Takes away what the client cannot do; what that would be goes to `missing`. */
static void drop_unable(const struct exchange *x, json_t *questions, json_t *missing)
{
        const json_t *able = json_object_get(json_object_get(x->message.params, "_meta"), MCP_META "clientCapabilities");
        const char *key;
        void *next;
        json_t *question;
        json_object_foreach_safe (questions, next, key, question) {
                const char *capability = capability_of(json_string_value(json_object_get(question, "method")));
                if (json_object_get(able, capability))
                        continue;
                json_object_set_new(missing, capability, json_object());
                json_object_del(questions, key);
        }
}

/* --- what is told --- */

/* Answers are objects, by their keys; those that nobody asked for are let be. */
static bool are_answers(const json_t *answers)
{
        const char *key;
        json_t *answer;
        if (!json_is_object(answers))
                return false;
        json_object_foreach ((json_t *)(uintptr_t)answers, key, answer)
                if (!json_is_object(answer))
                        return false;
        return true;
}

/* Adds the answers to what was told before. False when one is missing. */
static bool take_answers(const json_t *questions, const json_t *answers, json_t *told)
{
        const char *key;
        json_t *question;
        json_object_foreach ((json_t *)(uintptr_t)questions, key, question) {
                json_t *answer = json_object_get(answers, key);
                if (!answer)
                        return false;
                json_object_set(told, key, answer);
        }
        return true;
}

static void ask_for(struct exchange *x, const struct asker *a, size_t round, json_t *questions, json_t *told)
{
        json_t *result = json_pack("{s:s, s:O}", "resultType", "input_required", "inputRequests", questions);
        CLEANUP_JSON json_t *state = json_pack("{s:i, s:O}", "round", (int)round, "told", told);
        if (a->state)
                json_object_set_new(result, "requestState", seal_state(state));
        exchange_result(x, result);
}

/* The round that the client is in, and what it told before. False when its state is not ours. */
static bool read_state(const struct exchange *x, bool *ret_given, size_t *ret_round, json_t **ret_told)
{
        const json_t *sealed = json_object_get(x->message.params, "requestState");
        CLEANUP_JSON json_t *state = json_is_string(sealed) ? open_state(json_string_value(sealed)) : NULL;
        json_int_t round = json_integer_value(json_object_get(state, "round"));
        *ret_given = sealed != NULL;
        *ret_round = round == 1;
        *ret_told = state ? json_incref(json_object_get(state, "told")) : json_object();
        return !sealed || state;
}

json_t *need_input(struct exchange *x)
{
        const struct asker *a = find_asker(x);
        const json_t *answers = json_object_get(x->message.params, "inputResponses");
        CLEANUP_JSON json_t *told = NULL, *missing = json_object();
        bool given, ours;
        size_t round;
        ours = read_state(x, &given, &round, &told);
        if (!ours || (answers && !are_answers(answers))) {
                exchange_error(x, MCP_INVALID_PARAMS, ours ? "inputResponses must have an object for each key"
                                                           : "requestState is not what this server gave", NULL, 200);
                return NULL;
        }
        CLEANUP_JSON json_t *questions = quoted(a->rounds[round]);
        drop_unable(x, questions, missing);
        if (!json_object_size(questions)) {
                exchange_error(x, MCP_MISSING_CAPABILITY, "the client cannot do what this needs",
                               json_pack("{s:O}", "requiredCapabilities", missing), 400);
                return NULL;
        }
        if (!answers || given != a->state || !take_answers(questions, answers, told)) {
                ask_for(x, a, round, questions, told);
                return NULL;
        }
        if (round + 1 == ROUNDS || !a->rounds[round + 1])
                return TAKE_PTR(told);
        CLEANUP_JSON json_t *more = quoted(a->rounds[round + 1]);
        ask_for(x, a, round + 1, more, told);
        return NULL;
}

void answer_input(struct exchange *x)
{
        CLEANUP_JSON json_t *told = need_input(x);
        CLEANUP_TEXT struct text out = { 0 };
        if (told && json_write(told, &out, false) == 0)
                answer_text(x, out.data);
}
