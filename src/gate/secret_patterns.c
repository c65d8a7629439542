/*
 * The table of secret patterns; see secret_patterns.h. Of two patterns that match the same text, the more specific
 * comes first. A row has what the issuer of the secret guarantees: a prefix, an alphabet, a length. Where that is weak
 * (a short prefix, or one that is common in base64 data), a check rules out other text.
 */
#include "gate/secret_patterns.h"

#include <string.h>

#include "base/memory.h"
#include "gate/secret_assignment.h"
#include "gate/secret_checks.h"

#define ALNUM "[A-Za-z0-9]"
#define WORD "[A-Za-z0-9_]"
#define DASH "[A-Za-z0-9_-]"
#define HEX "[0-9a-f]"
#define UUID HEX "{8}-" HEX "{4}-" HEX "{4}-" HEX "{4}-" HEX "{12}"

/* The whole match is secret and must start a word. */
#define TOKEN(n, x, a, e) { .name = n, .expression = x, .alphabet = ALPHABET_##a, .end = SECRET_END_##e }
#define TOKEN_IF(c, n, x, a, e) \
        { .name = n, .expression = x, .alphabet = ALPHABET_##a, .end = SECRET_END_##e, .check = check_##c }
/* Recognised by the text before it: the last l characters of the match are secret. */
#define VALUE(l, n, x, a, e) { .name = n, .expression = x, .alphabet = ALPHABET_##a, .end = SECRET_END_##e, .last = l }
#define VALUE_IF(l, c, n, x, a, e) \
        { .name = n, .expression = x, .alphabet = ALPHABET_##a, .end = SECRET_END_##e, .last = l, .check = check_##c }
/* Recognised by its context: the function extract_p finds the secret in the match. */
#define PART(p, c, n, x, a) \
        { .name = n, .expression = x, .alphabet = ALPHABET_##a, .end = SECRET_END_GREEDY, .part = extract_##p, \
          .check = c }
#define BLOCK(n, x) { .name = n, .expression = x, .end = SECRET_END_PEM_BLOCK }

/* What may come between a name and its value: ="x", ": "x, => 'x, ", "x. */
#define IS "[\"']?[ \\t]{0,4}[=:,]>?[ \\t]{0,4}[\"']?"
/* What may come between the name of a setting and its sign, in any language: "=, ']=, [8] =, : and > of XML. */
#define SIGN "[\\\\\"'?\\[\\]0-9 \\t]{0,24}[=:>]"
#define QUOTE "\\\\?[\"']"
/* The first character of a value that is neither a variable nor empty. */
#define FIRST "[^\\s\"'=:\\\\<>${,;)}\\]]"

const struct secret_pattern secret_patterns[] = {
        /* keys as text */
        BLOCK("pem-private-key",
              "-{4,5} ?BEGIN (?:[A-Z0-9 ]{0,40}(?:PRIVATE KEY(?: BLOCK)?|SECRET KEY|NKEY SEED)|OpenVPN Static key V1) ?"
              "-{4,5}"),
        BLOCK("putty-private-key", "Private-Lines: [0-9]{1,4}"),
        /* "-----BEGIN … PRIVATE KEY" in base64, as in kubeconfig files and CI variables */
        TOKEN("pem-private-key",
              "LS0tLS1CRUdJTi(?:BQUklWQVRFIEtFW|BSU0EgUFJJVkFURSBLRV|BFQyBQUklWQVRFIEtFW|BPUEVOU1NI|"
              "BFTkNSWVBURUQgUFJJVkFU|BQR1AgUFJJVkFU|BEU0EgUFJJVkFU)", BASE64, GREEDY),
        TOKEN("age-secret-key", "AGE-SECRET-KEY-(?:PQ-)?1[02-9AC-HJ-NP-Z]{58}", WORD, GREEDY),

        /* clouds */
        TOKEN("aws-access-key", "A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}", WORD, EXACT),
        VALUE(40, "aws-secret-key", "(?i:secret_?(?:access_?)?key)" IS "[A-Za-z0-9+/]{40}", BASE64, EXACT),
        VALUE(100, "aws-session-token", "(?i:session_?token)" IS "[A-Za-z0-9+/=]{100}", BASE64, GREEDY),
        TOKEN("aws-bedrock-key", "ABSK[A-Za-z0-9+/]{109}", BASE64, GREEDY),
        TOKEN("google-api-key", "AIza" DASH "{35}", DASHED, EXACT),
        TOKEN("google-oauth-secret", "GOCSPX-" DASH "{28}", DASHED, EXACT),
        TOKEN("google-api-key", "AQ\\.Ab" DASH "{40}", DASHED, GREEDY),
        TOKEN("google-refresh-token", "1//0" DASH "{40}", DASHED, GREEDY),
        TOKEN("google-oauth-token", "ya29\\.[A-Za-z0-9_.-]{20}", DOTTED, GREEDY),
        VALUE(86, "azure-storage-key", "(?i:account_?key)" IS "[A-Za-z0-9+/]{86}", BASE64, GREEDY),
        VALUE(43, "azure-shared-access-key", "SharedAccess(?:Key|Signature)" IS "[A-Za-z0-9+/]{43}", BASE64, GREEDY),
        VALUE(43, "azure-sas-signature", "[?&]sig=[A-Za-z0-9%+/]{43}", ANY64, GREEDY),
        TOKEN_IF(mixed_case, "azure-client-secret", "[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31}", ANY64, GREEDY),
        TOKEN("azure-devops-pat", ALNUM "{76}AZDO" ALNUM "{4}", WORD, EXACT),
        TOKEN("azure-api-key", ALNUM "{52}JQQJ9[9D]" ALNUM "{26}", WORD, EXACT),
        TOKEN_IF(mixed_case, "alibaba-access-key", "LTAI" ALNUM "{16}", WORD, GREEDY),
        TOKEN_IF(mixed_case, "tencent-secret-id", "AKID" ALNUM "{32}", WORD, EXACT),
        TOKEN_IF(distinct_chars, "yandex-api-key", "AQVN" DASH "{35}", DASHED, GREEDY),
        TOKEN("digitalocean-token", "do[opr]_v1_" HEX "{64}", WORD, EXACT),
        TOKEN("cloudflare-token", "cf(?:k|ut|at)_" ALNUM "{40}", WORD, GREEDY),
        TOKEN("cloudflare-origin-ca-key", "v1\\.0-" HEX "{24}-" HEX "{146}", WORD, EXACT),
        TOKEN("heroku-api-key", "HRKU-" DASH "{36}", DASHED, GREEDY),
        TOKEN("flyio-token", "f(?:o1_|m[12][ar]?_)[A-Za-z0-9+/_-]{43}", ANY64, GREEDY),
        TOKEN_IF(mixed_case, "vercel-token", "vc[piark]_" ALNUM "{20}", WORD, GREEDY),
        TOKEN("vercel-token", "vercel_blob_rw_" ALNUM "{16}_" ALNUM "{30}", WORD, GREEDY),
        TOKEN_IF(mixed_case, "render-token", "rnd_" ALNUM "{24}", WORD, GREEDY),
        TOKEN("nats-seed", "S[UAONCX]A[A-Z2-7]{55}", WORD, EXACT),
        TOKEN("netlify-token", "nfp_" ALNUM "{36}", WORD, GREEDY),
        TOKEN("supabase-token", "sbp_" HEX "{40}", WORD, EXACT),
        TOKEN("supabase-secret-key", "sb_secret_" DASH "{22}", DASHED, GREEDY),
        TOKEN("databricks-token", "dapi" HEX "{32}(?:-[0-9])?", WORD, EXACT),
        TOKEN("planetscale-token", "pscale_(?:tkn|o?auth|otkn|pw)_[A-Za-z0-9_.=-]{32}", DOTTED, GREEDY),
        TOKEN("neon-api-key", "napi_[a-z0-9]{64}", WORD, EXACT),
        TOKEN("mongodb-atlas-secret", "mdb_sa_sk_" DASH "{40}", DASHED, GREEDY),
        TOKEN("openshift-token", "sha256~" DASH "{43}", DASHED, EXACT),
        TOKEN("tailscale-key", "tskey-(?:[a-z]{3,10}-)?" ALNUM "{6,24}-" ALNUM "{16}", WORD, GREEDY),
        TOKEN("vault-token", "hv[sbr]\\." DASH "{24}", DASHED, GREEDY),
        TOKEN("terraform-token", ALNUM "{14}\\.atlasv1\\." DASH "{60}", DASHED, GREEDY),
        TOKEN("pulumi-token", "pul-" HEX "{40}", WORD, EXACT),
        TOKEN("doppler-token", "dp\\.(?:pt|st|ct|sa|scim|audit)\\.[A-Za-z0-9_.-]{40}", DOTTED, GREEDY),
        TOKEN("infracost-key", "ico-" ALNUM "{32}", WORD, EXACT),
        TOKEN("1password-service-account", "ops_eyJ[A-Za-z0-9+/_-]{200}", ANY64, GREEDY),
        TOKEN("1password-secret-key", "A3-[A-Z0-9]{6}-[A-Z0-9]{6}-?[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}",
              WORD, EXACT),

        /* code and packages */
        TOKEN("github-fine-grained-pat", "github_pat_" ALNUM "{22}_" ALNUM "{59}", WORD, GREEDY),
        TOKEN_IF(distinct_chars, "github-fine-grained-pat", "github_pat_" WORD "{22}", WORD, GREEDY), /* cut off */
        TOKEN("github-pat", "ghp_" ALNUM "{36}", WORD, GREEDY),
        TOKEN("github-oauth", "gh[our]_" ALNUM "{36}", WORD, GREEDY),
        /* the token of an app's installation; the longer form is a number and a JWT */
        TOKEN_IF(distinct_chars, "github-oauth", "ghs_[A-Za-z0-9._-]{36}", DOTTED, GREEDY),
        TOKEN("gitlab-token", "gl(?:pat|dt|rt|rtr|ft|imt|agent|ptt|soat|ffct|oas|wt)-" DASH "{20}", DOTTED, GREEDY),
        TOKEN("gitlab-ci-token", "glcbt-" ALNUM "{1,5}_" DASH "{20}", DOTTED, GREEDY),
        TOKEN("gitlab-runner-token", "GR1348941" DASH "{20}", DASHED, GREEDY),
        TOKEN("bitbucket-token", "AT(?:BB|CTT3)" DASH "{32}", ANY64, GREEDY),
        TOKEN("atlassian-token", "ATATT3" DASH "{60}", ANY64, GREEDY),
        TOKEN("npm-token", "npm_" ALNUM "{36}", WORD, EXACT),
        VALUE_IF(6, credential, "npm-auth-token",
                 "(?::|^)_(?:authToken|auth|password)[ \\t]?=[ \\t]?[\"']?[A-Za-z0-9+/_.-]{6}", ANY64, GREEDY),
        TOKEN("pypi-token", "pypi-Ag[A-Za-z0-9_-]{50}", DASHED, GREEDY),
        TOKEN("rubygems-token", "rubygems_" HEX "{48}", WORD, EXACT),
        TOKEN_IF(mixed_case, "crates-io-token", "cio" ALNUM "{32}", WORD, EXACT),
        TOKEN_IF(distinct_chars, "nuget-api-key", "oy2[a-z0-9]{43}", WORD, EXACT),
        TOKEN("clojars-token", "CLOJARS_[a-z0-9]{60}", WORD, EXACT),
        TOKEN("docker-token", "dckr_[po]at_" DASH "{27}", DASHED, GREEDY),
        VALUE_IF(8, credential, "docker-config-auth", "\"auth\"[ \\t]{0,4}:[ \\t]{0,4}\"[A-Za-z0-9+/]{8}", BASE64,
                 GREEDY),
        TOKEN("artifactory-api-key", "AKCp" ALNUM "{69}", WORD, EXACT),
        TOKEN("artifactory-token", "cmVmdGtu" ALNUM "{56}", WORD, EXACT),
        TOKEN("circleci-token", "CCIP(?:AT|RJ)_" ALNUM "{22}_" HEX "{40}", WORD, EXACT),
        TOKEN("buildkite-token", "bk(?:ua|ct|rt|at)_[0-9a-zA-Z]{40}", WORD, GREEDY),
        TOKEN("sourcegraph-token", "sgp_(?:[0-9a-fA-F]{16}_|local_)?[0-9a-fA-F]{40}", WORD, EXACT),
        TOKEN("sonar-token", "sq[pua]_" HEX "{40}", WORD, EXACT),
        TOKEN("postman-api-key", "PMAK-" HEX "{24}-" HEX "{34}", WORD, EXACT),
        TOKEN("prefect-api-key", "pn[ub]_" ALNUM "{36}", WORD, EXACT),
        TOKEN("readme-api-key", "rdme_[a-z0-9]{70}", WORD, EXACT),

        /* models */
        TOKEN_IF(distinct_chars, "anthropic-api-key", "sk-ant-" DASH "{15}", DASHED, GREEDY),
        TOKEN("openrouter-api-key", "sk-or-v1-" HEX "{13}", WORD, GREEDY),
        TOKEN_IF(distinct_chars, "openai-api-key", "sk-(?:proj|svcacct|admin|None)-" DASH "{12}", DASHED, GREEDY),
        TOKEN_IF(distinct_chars, "openai-api-key", "sk-" ALNUM "{16}", DASHED, GREEDY),
        TOKEN_IF(random_looking, "openai-api-key", "sk-" DASH "{20}", DASHED, GREEDY), /* of other services */
        TOKEN_IF(both_cases, "huggingface-token", "(?:hf|api_org)_" ALNUM "{34}", WORD, GREEDY),
        TOKEN("groq-api-key", "gsk_" ALNUM "{52}", WORD, EXACT),
        TOKEN_IF(mixed_case, "replicate-token", "r8_" ALNUM "{37}", WORD, EXACT),
        TOKEN("perplexity-api-key", "pplx-" ALNUM "{48}", WORD, EXACT),
        TOKEN("xai-api-key", "xai-" ALNUM "{80}", WORD, EXACT),
        TOKEN("cerebras-api-key", "csk-[a-z0-9]{48}", WORD, EXACT),
        TOKEN("nvidia-api-key", "nvapi-" DASH "{60}", DASHED, GREEDY),
        TOKEN("together-api-key", "tgp_v1_" DASH "{43}", DASHED, EXACT),
        TOKEN("pinecone-api-key", "pcsk_" WORD "{60}", WORD, GREEDY),
        TOKEN("langsmith-api-key", "lsv2_(?:pt|sk)_" HEX "{32}_" HEX "{10}", WORD, EXACT),
        TOKEN("tavily-api-key", "tvly-(?:dev-|prod-)?" ALNUM "{32}", WORD, EXACT),
        TOKEN("jina-api-key", "jina_" ALNUM "{60}", DASHED, GREEDY),
        TOKEN("e2b-api-key", "e2b_" HEX "{40}", WORD, EXACT),
        TOKEN("elevenlabs-api-key", "sk_" HEX "{48}", WORD, EXACT),

        /* messages and mail */
        TOKEN_IF(no_placeholder, "slack-token", "xox[abcdeoprs]-[A-Za-z0-9-]{10}", DASHED, GREEDY),
        TOKEN("slack-app-token", "xapp-[0-9]-[A-Z0-9]{8}", DASHED, GREEDY),
        VALUE(20, "slack-webhook", "hooks\\.slack\\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{20}", BASE64,
              GREEDY),
        VALUE(60, "discord-webhook", "discord(?:app)?\\.com/api/webhooks/[0-9]{17,20}/" DASH "{60}", DASHED, GREEDY),
        VALUE(36, "teams-webhook", "\\.webhook\\.office\\.com/webhookb2/[0-9a-f-]{36}", ANY64, GREEDY),
        /* the second part is a time, whose first letter is one of these until 2029 */
        PART(discord, check_mixed_case, "discord-bot-token", "\\.[CDGW-Zab]" DASH "{5}\\." DASH "{27}", DASHED),
        TOKEN("telegram-bot-token", "[0-9]{8,10}:AA" DASH "{33}", DASHED, EXACT),
        TOKEN("twilio-api-key", "(?:SK|AC)[0-9a-f]{32}", WORD, EXACT),
        TOKEN("sendgrid-api-key", "SG\\." DASH "{22}\\." DASH "{43}", DASHED, EXACT),
        TOKEN("mailgun-api-key", "(?:pub)?key-" HEX "{32}", DASHED, EXACT),
        TOKEN("mailchimp-api-key", HEX "{32}-us[0-9]{1,2}", WORD, EXACT),
        TOKEN("brevo-api-key", "x(?:key|smtp)sib-" HEX "{64}-" ALNUM "{16}", WORD, EXACT),

        /* money and shops */
        TOKEN("stripe-live-key", "[sr]k_(?:org_)?live_" ALNUM "{16}", WORD, GREEDY),
        TOKEN("stripe-test-key", "[sr]k_(?:org_)?test_" ALNUM "{16}", WORD, GREEDY),
        TOKEN("stripe-webhook-secret", "whsec_[A-Za-z0-9+/]{32}", BASE64, GREEDY),
        TOKEN("shopify-token", "shp(?:at|ca|pa|ss|rt|ua)_[0-9a-fA-F]{32}", WORD, EXACT),
        TOKEN("square-token", "sq0(?:atp|csp|idb)-" DASH "{22}", DASHED, GREEDY),
        TOKEN_IF(distinct_chars, "square-token", "EAAA" DASH "{60}", DASHED, EXACT),
        TOKEN("braintree-token", "access_token\\$production\\$[0-9a-z]{16}\\$" HEX "{32}", WORD, EXACT),
        TOKEN("plaid-token", "access-(?:sandbox|development|production)-" UUID, WORD, EXACT),
        TOKEN("easypost-api-key", "EZ[AT]K" ALNUM "{54}", WORD, EXACT),
        TOKEN("shippo-token", "shippo_(?:live|test)_" HEX "{40}", WORD, EXACT),
        TOKEN("flutterwave-secret", "FLWSECK(?:_TEST)?-[0-9a-h]{32}-X", WORD, EXACT),

        /* other services */
        TOKEN("linear-api-key", "lin_(?:api|oauth)_" ALNUM "{40}", WORD, GREEDY),
        TOKEN("notion-token", "ntn_[0-9]{11}" ALNUM "{35}", WORD, EXACT),
        TOKEN_IF(mixed_case, "notion-token", "secret_" ALNUM "{43}", WORD, EXACT),
        TOKEN("dropbox-token", "sl\\.(?:u\\.)?" DASH "{120}", DASHED, GREEDY),
        TOKEN("airtable-token", "pat" ALNUM "{14}\\." HEX "{64}", WORD, EXACT),
        TOKEN("hubspot-token", "pat-[a-z]{2}[0-9]-" UUID, WORD, EXACT),
        TOKEN("figma-token", "fig[dou]r?_" DASH "{40}", DASHED, GREEDY),
        TOKEN("contentful-token", "CFPAT-" DASH "{43}", DASHED, EXACT),
        TOKEN("grafana-token", "glsa_" ALNUM "{32}_" HEX "{8}", WORD, EXACT),
        TOKEN("grafana-cloud-token", "glc_eyJ[A-Za-z0-9+/]{32}", BASE64, GREEDY),
        TOKEN("newrelic-api-key", "NR(?:AK|II|RA|IQ|AL)-[A-Za-z0-9_-]{27}", DASHED, GREEDY),
        TOKEN("sentry-token", "sntry(?:s_eyJ[A-Za-z0-9+/=_-]{40}|u_" HEX "{64})", ANY64, GREEDY),
        TOKEN("dynatrace-token", "dt0[a-z][0-9]{2}\\.[A-Z0-9]{24}\\.[A-Z0-9]{64}", WORD, EXACT),
        TOKEN("maxmind-license-key", ALNUM "{6}_" ALNUM "{29}_mmk", WORD, EXACT),
        TOKEN("adobe-client-secret", "p8e-[A-Za-z0-9_-]{32}", DASHED, EXACT),
        TOKEN("amazon-mws-token", "amzn\\.mws\\." UUID, WORD, EXACT),

        /* recognised by their context, whoever issued them */
        PART(jwt, NULL, "jwt", DASH "{8}\\.eyJ" DASH "{8}", DOTTED),
        PART(url_password, NULL, "basic-auth-url", "[A-Za-z0-9]://[^\\s/?#@:\"'<>`\\\\]{0,128}:[^\\s/?#@\"'<>`\\\\]",
             VALUE),
        VALUE_IF(6, credential, "authorization-header",
                 "(?i:authorization)" IS "(?i:bearer|basic|token|apikey|api-key|key)[ \\t]{1,4}[A-Za-z0-9+/=_.~-]{6}",
                 ANY64, GREEDY),
        VALUE_IF(20, random_looking, "authorization-header", "[Bb]earer[ \\t]{1,4}[A-Za-z0-9+/=_.~-]{20}", ANY64,
                 GREEDY),
        /* settings: the expressions find names, and secret_assignment.c decides about the values */
        PART(assignment, NULL, "secret-env-assignment",
             "(?:[A-Z0-9]_KEY|API_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|_PASS|_PWD|SSHPASS)"
             "(?:_[A-Z0-9_]{1,24}|S)?" SIGN, VALUE),
        PART(assignment, NULL, "secret-assignment",
             "(?i:pass(?:word|wd|wort|phrase|code)?|pwd|psk|secret|token|credential|"
             "(?:api|access|account|admin|app|auth|client|deploy|encrypt(?:ion)?|hmac|jwt|license|master|pre_?shared|"
             "private|root|secret|service|session|shared|signing|storage|subscription|user|webhook)[_-]?key)"
             "(?i:s|[_-]?(?:[0-9]{1,2}|base|dev|live|plain|primary|prod|production|secondary|staging|value))?" SIGN,
             VALUE),
        /* name="password" value="…", "name": "DB_PASSWORD", "value": "…" */
        PART(assignment, NULL, "secret-assignment",
             "(?i:password|secret|token|key)[\"'],? ?\"?value\"?[ \\t]?[=:]", VALUE),
        PART(argument, NULL, "secret-argument",
             "--?[a-z0-9_-]{0,32}(?:password|passwd|passphrase|token|secret|api-?key|access-?key|secret-?key|pass|pwd)"
             "[ \\t]{1,4}(?:" QUOTE ")?[^\\s\"'=:\\\\<>${-]", VALUE),
        PART(argument, NULL, "secret-argument",
             "(?i:password|passwd|identified by)[ \\t]{1,4}" QUOTE FIRST, VALUE),
        /* #define DEFAULT_PASSWORD "…" */
        PART(argument, NULL, "secret-argument", "(?:PASSWORD|PASSWD|SECRET|TOKEN|_KEY)[ \\t]{1,20}\"" FIRST, VALUE),
        PART(user_password, NULL, "secret-argument",
             "[ \\t](?:-u|--user|--proxy-user)[ \\t=]{0,2}(?:" QUOTE ")?[A-Za-z0-9_.@%+-]{1,64}:" FIRST, VALUE),
        PART(netrc, NULL, "netrc-password", "password[ \\t]{1,8}" FIRST, VALUE),
};
const size_t secret_pattern_count = ARRAY_SIZE(secret_patterns);

bool alphabet_contains(enum alphabet alphabet, char c)
{
        /* Before ALPHABET_VALUE: the characters besides letters and digits. From there on: the excluded characters. */
        static const char *const others[] = {
                [ALPHABET_NONE] = "",         [ALPHABET_WORD] = "_",      [ALPHABET_DASHED] = "_-",
                [ALPHABET_DOTTED] = "_-.",    [ALPHABET_BASE64] = "+/=",  [ALPHABET_ANY64] = "+/=_-.~%",
                [ALPHABET_VALUE] = " \t\"'`<>", [ALPHABET_SINGLE] = "'",    [ALPHABET_DOUBLE] = "\"",
                [ALPHABET_ESCAPED] = "\"\\",
        };
        if (alphabet == ALPHABET_NONE || c == '\n' || c == '\r' || c == '\0')
                return false;
        bool other = strchr(others[alphabet], c);
        if (alphabet >= ALPHABET_VALUE)
                return !other;
        return other || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Extends the span over the characters of its alphabet that follow. */
static void extend(struct text_span *s, struct run_cache *runs)
{
        size_t *from = &runs->from[s->alphabet], *to = &runs->to[s->alphabet];
        if (s->to < *from || s->to > *to) {
                *from = *to = s->to;
                while (*to < s->length && alphabet_contains(s->alphabet, s->text[*to]))
                        ++*to;
        }
        s->to = *to;
}

bool secret_pattern_find(const struct secret_pattern *pattern, struct text_span *s, struct run_cache *runs)
{
        if (!pattern)
                return true;
        s->alphabet = pattern->alphabet;
        if (pattern->part ? !pattern->part(s) : pattern->last == 0 && !secret_starts_word(s))
                return false;
        if (pattern->last)
                s->from = s->to - pattern->last;
        if (pattern->end == SECRET_END_EXACT && s->to < s->length && alphabet_contains(s->alphabet, s->text[s->to]))
                return false;
        if (pattern->end == SECRET_END_GREEDY)
                extend(s, runs);
        else
                s->alphabet = ALPHABET_NONE;
        return !pattern->check || pattern->check(s);
}
