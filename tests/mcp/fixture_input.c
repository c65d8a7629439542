/*
 * A modern server sends no requests to its client. To ask for input it replies with a result "input_required", and the
 * client sends its request again, with the answers; see fixture.h.
 *
 * How it works: a row of the table has one or two rounds of questions. The answers of the first round are not kept here
 * but sent to the client and back, as `requestState`: JSON in base64, followed by a MAC (SipHash-2-4) with a key that
 * only this process knows. A state with a wrong MAC is refused; the suite tries that.
 */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/base64.h"
#include "base/json.h"

/* --- states --- */

static uint64_t state_key[2];

bool make_state_key(void)
{
        return getrandom(state_key, sizeof state_key, 0) == sizeof state_key;
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

static uint64_t mac_of(const char *bytes, size_t length)
{
        uint64_t v[] = { state_key[0] ^ 0x736f6d6570736575, state_key[1] ^ 0x646f72616e646f6d,
                         state_key[0] ^ 0x6c7967656e657261, state_key[1] ^ 0x7465646279746573 };
        /* the last word has at most seven bytes of data, and the length in its highest byte */
        for (size_t offset = 0; offset <= length; offset += 8) {
                uint64_t word = offset + 8 > length ? (uint64_t)length << 56 : 0;
                for (size_t i = 0; i < 8 && offset + i < length; i++)
                        word |= (uint64_t)(unsigned char)bytes[offset + i] << 8 * i;
                v[3] ^= word;
                mix(v, 2);
                v[0] ^= word;
        }
        v[2] ^= 0xff;
        mix(v, 4);
        return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* The state as a string, BASE64.MAC. */
static json_t *encode_state(const json_t *state)
{
        CLEANUP_TEXT struct text plain = { 0 }, out = { 0 };
        if (json_write(state, &plain, false) < 0)
                return NULL;
        base64_encode(&out, plain.data, plain.length);
        text_format(&out, ".%016llx", (unsigned long long)mac_of(out.data, out.length));
        return json_string(out.data);
}

/* NULL if the MAC is wrong. */
static json_t *decode_state(const char *encoded)
{
        const char *dot = strchr(encoded, '.');
        CLEANUP_TEXT struct text expected = { 0 }, plain = { 0 };
        json_t *state = NULL;
        if (!dot)
                return NULL;
        text_format(&expected, ".%016llx", (unsigned long long)mac_of(encoded, (size_t)(dot - encoded)));
        if (strcmp(expected.data, dot) == 0 && base64_decode(&plain, encoded, (size_t)(dot - encoded)))
                (void)json_parse_bounded(plain.data, plain.length, MCP_BYTES_MAX, JSON_DEPTH_MAX, &state, NULL, NULL,
                                         NULL);
        return state;
}

/* --- questions --- */

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

static const struct questionnaire {
        const char *name;           /* of a tool or prompt */
        bool has_state;             /* the client must send a requestState back with its answers */
        const char *rounds[ROUNDS]; /* questions by their keys */
} questionnaires[] = {
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

static const struct questionnaire *find_questionnaire(const struct pending_request *x)
{
        const char *name = json_string_value(json_object_get(x->message.params, "name"));
        size_t i = 0;
        while (i + 1 < ARRAY_SIZE(questionnaires) && strcmp(questionnaires[i].name, name) != 0)
                i++;
        return &questionnaires[i];
}

static const char *capability_of(const char *method)
{
        static const char *const names[][2] = {
                { "elicitation/create", "elicitation" },
                { "sampling/createMessage", "sampling" },
                { "roots/list", "roots" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (strcmp(names[i][0], method) == 0)
                        return names[i][1];
        return "";
}

/* Removes the questions for which the client lacks the capability, and adds the capability to `missing`. */
static void remove_unsupported(const struct pending_request *x, json_t *questions, json_t *missing)
{
        const json_t *supported =
                json_object_get(json_object_get(x->message.params, "_meta"), MCP_META "clientCapabilities");
        const char *key;
        void *next;
        json_t *question;
        json_object_foreach_safe (questions, next, key, question) {
                const char *capability = capability_of(json_string_value(json_object_get(question, "method")));
                if (json_object_get(supported, capability))
                        continue;
                json_object_set_new(missing, capability, json_object());
                json_object_del(questions, key);
        }
}

/* --- answers --- */

/* The answers must be an object of objects. Answers to other keys than those of the questions are allowed. */
static bool are_valid_answers(const json_t *answers)
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

/* Adds the answers to the input of earlier rounds. False if one is missing. */
static bool add_answers(const json_t *questions, const json_t *answers, json_t *input)
{
        const char *key;
        json_t *question;
        json_object_foreach ((json_t *)(uintptr_t)questions, key, question) {
                json_t *answer = json_object_get(answers, key);
                if (!answer)
                        return false;
                json_object_set(input, key, answer);
        }
        return true;
}

/* Replies with a result that asks these questions. `input` has the answers of earlier rounds. */
static void ask(struct pending_request *x, const struct questionnaire *q, size_t round, json_t *questions,
                json_t *input)
{
        json_t *result = json_pack("{s:s, s:O}", "resultType", "input_required", "inputRequests", questions);
        CLEANUP_JSON json_t *state = json_pack("{s:i, s:O}", "round", (int)round, "input", input);
        if (q->has_state)
                json_object_set_new(result, "requestState", encode_state(state));
        request_answer_result(x, result);
}

/* Reads the round that the client answers, and the input of earlier rounds. False if the state has a wrong MAC. */
static bool read_state(const struct pending_request *x, bool *ret_has_state, size_t *ret_round, json_t **ret_input)
{
        const json_t *encoded = json_object_get(x->message.params, "requestState");
        CLEANUP_JSON json_t *state = json_is_string(encoded) ? decode_state(json_string_value(encoded)) : NULL;
        json_int_t round = json_integer_value(json_object_get(state, "round"));
        *ret_has_state = encoded != NULL;
        *ret_round = round == 1;
        *ret_input = state ? json_incref(json_object_get(state, "input")) : json_object();
        return !encoded || state;
}

json_t *require_input(struct pending_request *x)
{
        const struct questionnaire *q = find_questionnaire(x);
        const json_t *answers = json_object_get(x->message.params, "inputResponses");
        CLEANUP_JSON json_t *input = NULL, *missing = json_object();
        bool has_state, valid;
        size_t round;
        valid = read_state(x, &has_state, &round, &input);
        if (!valid || (answers && !are_valid_answers(answers))) {
                request_answer_error(x, MCP_INVALID_PARAMS, valid ? "inputResponses must have an object for each key"
                                                            : "requestState was not made by this server", NULL, 200);
                return NULL;
        }
        CLEANUP_JSON json_t *questions = parse_quoted(q->rounds[round]);
        remove_unsupported(x, questions, missing);
        if (!json_object_size(questions)) {
                request_answer_error(x, MCP_MISSING_CAPABILITY, "the client lacks a capability that this needs",
                               json_pack("{s:O}", "requiredCapabilities", missing), 400);
                return NULL;
        }
        if (!answers || has_state != q->has_state || !add_answers(questions, answers, input)) {
                ask(x, q, round, questions, input);
                return NULL;
        }
        if (round + 1 == ROUNDS || !q->rounds[round + 1])
                return TAKE_PTR(input);
        CLEANUP_JSON json_t *next_questions = parse_quoted(q->rounds[round + 1]);
        ask(x, q, round + 1, next_questions, input);
        return NULL;
}

void answer_input(struct pending_request *x)
{
        CLEANUP_JSON json_t *input = require_input(x);
        CLEANUP_TEXT struct text out = { 0 };
        if (input && json_write(input, &out, false) == 0)
                answer_text(x, out.data);
}
