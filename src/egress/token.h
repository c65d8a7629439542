/* The token that a proxy wants where not only its box can connect to it. Makes no system call. */
#ifndef RINGWALL_EGRESS_TOKEN_H
#define RINGWALL_EGRESS_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

#include "wire/http_request.h"

/* Takes the same time wherever the two differ; how long a token is, is no secret. */
bool token_is(const char *token, const char *given, size_t length);

enum token_verdict { TOKEN_RIGHT, TOKEN_MISSING, TOKEN_WRONG };

/* What a request to an HTTP proxy says: as the password of "Proxy-Authorization: Basic", with any name. */
enum token_verdict token_judge(const char *token, const struct http_request *r);

#endif
