/*
 * SOCKS5; see socks.h.
 *
 * How it works: the first bytes of each message determine its length. A message is collected in a buffer for the
 * longest one and then parsed. The state is the next message; the table has its version and the functions that measure
 * and parse it.
 *
 * What the client controls: every byte. It may send the next message before it has the answer to the last one.
 */
#include "egress/socks.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "egress/proxy_token.h"

enum { VERSION = 5, LOGIN_VERSION = 1 };
enum { NO_LOGIN = 0, PASSWORD = 2, NO_METHOD = 0xff };
enum { CONNECT = 1 };
enum { IPV4 = 1, NAME = 3, IPV6 = 4 };

void socks_init(struct socks *s, const char *token)
{
        *s = (struct socks){ .token = token };
}

static void add_pair(struct text *answer, uint8_t first, uint8_t second)
{
        const char bytes[] = { (char)first, (char)second };
        text_add_bytes(answer, bytes, sizeof bytes);
}

void socks_reply(enum socks_reply reply, struct text *answer)
{
        static const char rest[] = { 0, IPV4, 0, 0, 0, 0, 0, 0 }; /* the bound address is not disclosed */
        add_pair(answer, VERSION, (uint8_t)reply);
        text_add_bytes(answer, rest, sizeof rest);
}

static int refuse(struct text *answer, enum socks_reply reply, int code)
{
        socks_reply(reply, answer);
        return -code;
}

/* --- the messages --- */

/* These return the length of a message, as far as the bytes so far determine it. */
static size_t greeting_length(const uint8_t *m, size_t length)
{
        return length < 2 ? 2 : (size_t)2 + m[1];
}

static int read_greeting(struct socks *s, struct text *answer)
{
        const uint8_t method = s->token ? PASSWORD : NO_LOGIN;
        if (!memchr(s->message + 2, method, s->message[1])) {
                add_pair(answer, VERSION, NO_METHOD);
                return -EOPNOTSUPP;
        }
        add_pair(answer, VERSION, method);
        s->state = s->token ? SOCKS_LOGIN : SOCKS_REQUEST;
        return 0;
}

static size_t login_length(const uint8_t *m, size_t length)
{
        if (length < 2)
                return 2;
        size_t password = (size_t)2 + m[1];
        return length <= password ? password + 1 : password + 1 + m[password];
}

static int read_login(struct socks *s, struct text *answer)
{
        const uint8_t *password = s->message + 2 + s->message[1];
        bool is_correct = token_matches(s->token, (const char *)password + 1, *password);
        add_pair(answer, LOGIN_VERSION, !is_correct);
        if (!is_correct)
                return -EACCES;
        s->state = SOCKS_REQUEST;
        return 0;
}

static size_t request_length(const uint8_t *m, size_t length)
{
        if (length < 4)
                return 4;
        switch (m[3]) {
        case IPV4:
                return 4 + 4 + 2;
        case IPV6:
                return 4 + 16 + 2;
        case NAME:
                return length < 5 ? 5 : (size_t)5 + m[4] + 2;
        default:
                return 4; /* unknown type: read_request() refuses it */
        }
}

static int read_request(struct socks *s, struct text *answer)
{
        const uint8_t *m = s->message, *port = m + s->length - 2;
        const uint16_t number = (uint16_t)(port[0] << 8 | port[1]);
        const char *wrong = NULL;
        if (m[1] != CONNECT)
                return refuse(answer, SOCKS_NO_SUCH_COMMAND, EOPNOTSUPP);
        if (m[2] != 0)
                return refuse(answer, SOCKS_FAILED, EPROTO);
        if (m[3] == NAME)
                wrong = destination_from_name((const char *)m + 5, m[4], number, &s->destination);
        else if (m[3] == IPV4 || m[3] == IPV6)
                wrong = destination_from_address(m[3] == IPV4 ? AF_INET : AF_INET6, m + 4, number, &s->destination);
        else
                return refuse(answer, SOCKS_NO_SUCH_ADDRESS_TYPE, EOPNOTSUPP);
        if (wrong)
                return refuse(answer, SOCKS_HOST_UNREACHABLE, EINVAL);
        s->state = SOCKS_DONE;
        return 0;
}

static const struct {
        uint8_t version;
        size_t (*length)(const uint8_t *message, size_t length);
        int (*read)(struct socks *s, struct text *answer);
} messages[] = {
        [SOCKS_GREETING] = { VERSION, greeting_length, read_greeting },
        [SOCKS_LOGIN] = { LOGIN_VERSION, login_length, read_login },
        [SOCKS_REQUEST] = { VERSION, request_length, read_request },
};

/* Answers in the protocol that the client seems to speak, so that it can report the refusal. */
static int refuse_version(const struct socks *s, struct text *answer)
{
        static const char socks4[] = { 0, 0x5b, 0, 0, 0, 0, 0, 0 };
        if (s->state == SOCKS_LOGIN)
                add_pair(answer, LOGIN_VERSION, 1);
        else if (s->state == SOCKS_REQUEST)
                socks_reply(SOCKS_FAILED, answer);
        else if (s->message[0] == 4)
                text_add_bytes(answer, socks4, sizeof socks4);
        return -EPROTO;
}

int socks_feed(struct socks *s, const char *bytes, size_t length, size_t *ret_used, struct text *answer)
{
        int status = s->refused;
        *ret_used = 0;
        while (status == 0 && s->state != SOCKS_DONE && *ret_used < length) {
                s->message[s->length++] = (uint8_t)bytes[(*ret_used)++];
                if (s->message[0] != messages[s->state].version) {
                        status = refuse_version(s, answer);
                } else if (s->length == messages[s->state].length(s->message, s->length)) {
                        status = messages[s->state].read(s, answer);
                        s->length = 0;
                }
        }
        s->refused = status;
        return status ? status : s->state == SOCKS_DONE;
}
