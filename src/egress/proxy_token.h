/* The token that a proxy requires when processes outside its box can connect to it too. Makes no system call. */
#ifndef RINGWALL_EGRESS_PROXY_TOKEN_H
#define RINGWALL_EGRESS_PROXY_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

#include "wire/http_request.h"

/* Compares in constant time; only the length, which is not secret, is compared first. */
bool token_matches(const char *token, const char *given, size_t length);

enum proxy_token_result { PROXY_TOKEN_OK, PROXY_TOKEN_MISSING, PROXY_TOKEN_WRONG };

/* Checks the password of "Proxy-Authorization: Basic" in a request to the HTTP proxy; the user name is ignored. */
enum proxy_token_result token_check(const char *token, const struct http_request *r);

#endif
