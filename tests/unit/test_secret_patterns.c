/* The secret patterns: each is found, and similar text is not. */
#include "test_scrub_fixture.h"

/* --- tokens, recognized by themselves --- */

static const struct {
        const char *name, *secret;
} tokens[] = {
        { "age-secret-key", "AGE-SECRET-KEY-1{t58}" },
        { "aws-access-key", "AKIA{u16}" },
        { "aws-access-key", "ASIA{u16}" },
        { "aws-bedrock-key", "ABSK{s109}" },
        { "google-api-key", "AIza{d35}" },
        { "google-oauth-secret", "GOCSPX-{d28}" },
        { "google-oauth-token", "ya29.{d20}" },
        { "azure-client-secret", "aB3{n1}Q~{a31}" },
        { "azure-devops-pat", "{a76}AZDO{a4}" },
        { "azure-api-key", "{a52}JQQJ99{a26}" },
        { "alibaba-access-key", "LTAI{a16}" },
        { "tencent-secret-id", "AKID{a32}" },
        { "yandex-api-key", "AQVN{d35}" },
        { "digitalocean-token", "dop_v1_{h64}" },
        { "digitalocean-token", "doo_v1_{h64}" },
        { "cloudflare-token", "cfut_{a40}" },
        { "cloudflare-origin-ca-key", "v1.0-{h24}-{h146}" },
        { "heroku-api-key", "HRKU-{d36}" },
        { "flyio-token", "fo1_{d43}" },
        { "flyio-token", "fm2_{s43}" },
        { "netlify-token", "nfp_{a36}" },
        { "supabase-token", "sbp_{h40}" },
        { "supabase-secret-key", "sb_secret_{d22}" },
        { "databricks-token", "dapi{h32}" },
        { "planetscale-token", "pscale_tkn_{d32}" },
        { "planetscale-token", "pscale_pw_{d32}" },
        { "neon-api-key", "napi_{l64}" },
        { "mongodb-atlas-secret", "mdb_sa_sk_{d40}" },
        { "openshift-token", "sha256~{d43}" },
        { "tailscale-key", "tskey-auth-{a12}-{a16}" },
        { "vault-token", "hvs.{d24}" },
        { "terraform-token", "{a14}.atlasv1.{d60}" },
        { "pulumi-token", "pul-{h40}" },
        { "doppler-token", "dp.pt.{a40}" },
        { "infracost-key", "ico-{a32}" },
        { "1password-service-account", "ops_eyJ{d200}" },
        { "1password-secret-key", "A3-{u6}-{u6}-{u5}-{u5}-{u5}-{u5}" },
        { "github-fine-grained-pat", "github_pat_{a22}_{a59}" },
        { "github-pat", "ghp_{a36}" },
        { "github-oauth", "gho_{a36}" },
        { "github-oauth", "ghu_{a36}" },
        { "github-oauth", "ghs_{a36}" },
        { "github-oauth", "ghr_{a36}" },
        { "gitlab-token", "glpat-{d20}" },
        { "gitlab-token", "gldt-{d20}" },
        { "gitlab-token", "glrt-{d20}" },
        { "gitlab-ci-token", "glcbt-{a2}_{d20}" },
        { "gitlab-runner-token", "GR1348941{d20}" },
        { "bitbucket-token", "ATBB{a32}" },
        { "atlassian-token", "ATATT3{d60}" },
        { "npm-token", "npm_{a36}" },
        { "pypi-token", "pypi-AgEI{d48}" },
        { "rubygems-token", "rubygems_{h48}" },
        { "crates-io-token", "cio{a32}" },
        { "nuget-api-key", "oy2{l43}" },
        { "clojars-token", "CLOJARS_{l60}" },
        { "docker-token", "dckr_pat_{d27}" },
        { "artifactory-api-key", "AKCp{a69}" },
        { "artifactory-token", "cmVmdGtu{a56}" },
        { "circleci-token", "CCIPAT_{a22}_{h40}" },
        { "buildkite-token", "bkua_{h40}" },
        { "sourcegraph-token", "sgp_{h16}_{h40}" },
        { "sonar-token", "squ_{h40}" },
        { "postman-api-key", "PMAK-{h24}-{h34}" },
        { "prefect-api-key", "pnu_{a36}" },
        { "readme-api-key", "rdme_{l70}" },
        { "anthropic-api-key", "sk-ant-{d20}" },
        { "openrouter-api-key", "sk-or-v1-{h64}" },
        { "openai-api-key", "sk-proj-{d20}" },
        { "openai-api-key", "sk-svcacct-{d20}" },
        { "openai-api-key", "sk-{a20}" },
        { "huggingface-token", "hf_{w34}" },
        { "huggingface-token", "hf_{a34}" },
        { "groq-api-key", "gsk_{a52}" },
        { "replicate-token", "r8_{a37}" },
        { "perplexity-api-key", "pplx-{a48}" },
        { "xai-api-key", "xai-{a80}" },
        { "cerebras-api-key", "csk-{l48}" },
        { "nvidia-api-key", "nvapi-{d60}" },
        { "together-api-key", "tgp_v1_{d43}" },
        { "pinecone-api-key", "pcsk_{a60}" },
        { "langsmith-api-key", "lsv2_pt_{h32}_{h10}" },
        { "tavily-api-key", "tvly-dev-{a32}" },
        { "jina-api-key", "jina_{a60}" },
        { "e2b-api-key", "e2b_{h40}" },
        { "elevenlabs-api-key", "sk_{h48}" },
        { "slack-token", "xoxb-{n6}-{a3}" },
        { "slack-token", "xoxp-{n6}-{a3}" },
        { "slack-token", "xoxa-{a10}" },
        { "slack-token", "xoxr-{a10}" },
        { "slack-app-token", "xapp-1-{u8}" },
        { "discord-bot-token", "MTA4{a20}.{a6}.{d27}" },
        { "telegram-bot-token", "{n9}:AA{d33}" },
        { "twilio-api-key", "SK{h32}" },
        { "sendgrid-api-key", "SG.{d22}.{d43}" },
        { "mailgun-api-key", "key-{h32}" },
        { "mailchimp-api-key", "{h32}-us1" },
        { "brevo-api-key", "xkeysib-{h64}-{a16}" },
        { "stripe-live-key", "sk_live_{a16}" },
        { "stripe-live-key", "rk_live_{a16}" },
        { "stripe-test-key", "sk_test_{a16}" },
        { "stripe-webhook-secret", "whsec_{s32}" },
        { "shopify-token", "shpat_{h32}" },
        { "square-token", "sq0atp-{d22}" },
        { "square-token", "EAAA{d60}" },
        { "braintree-token", "access_token$production${l16}${h32}" },
        { "plaid-token", "access-production-{h8}-{h4}-{h4}-{h4}-{h12}" },
        { "easypost-api-key", "EZAK{a54}" },
        { "shippo-token", "shippo_live_{h40}" },
        { "flutterwave-secret", "FLWSECK-{h32}-X" },
        { "linear-api-key", "lin_api_{a40}" },
        { "notion-token", "ntn_{n11}{a35}" },
        { "notion-token", "secret_{a43}" },
        { "dropbox-token", "sl.{d120}" },
        { "airtable-token", "pat{a14}.{h64}" },
        { "hubspot-token", "pat-na1-{h8}-{h4}-{h4}-{h4}-{h12}" },
        { "figma-token", "figd_{d40}" },
        { "contentful-token", "CFPAT-{d43}" },
        { "grafana-token", "glsa_{a32}_{h8}" },
        { "grafana-cloud-token", "glc_eyJ{s32}" },
        { "newrelic-api-key", "NRAK-{u27}" },
        { "sentry-token", "sntryu_{h64}" },
        { "dynatrace-token", "dt0c01.{u24}.{u64}" },
        { "maxmind-license-key", "{a6}_{a29}_mmk" },
        { "adobe-client-secret", "p8e-{d32}" },
        { "amazon-mws-token", "amzn.mws.{h8}-{h4}-{h4}-{h4}-{h12}" },
        { "pem-private-key", "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRV{s40}" },
};

static void test_each_token_is_replaced_in_any_context(void **state)
{
        (void)state;
        static const char *const contexts[][2] = {
                { "", "" }, { "a ", " b\n" }, { "x=\"", "\"," }, { "(", ")" }, { "https://h/?t=", "&u=1" },
                                                                     { "line\\n", "\\n" },
                { "u%3D", "&" }, { "\\u0026", "\\u0026" }, { "\033[1;32m", "\033[0m" }, { "1:\t", "\r\n" },
                  { "\xc3\xa9", "\xc3\xa9" },
        };
        CLEANUP_SCRUBBER struct scrubber *s = new_scrubber();
        for (size_t i = 0; i < ARRAY_SIZE(tokens); i++)
                for (size_t j = 0; j < ARRAY_SIZE(contexts); j++) {
                        char text[512], expected[256];
                        /* A token that starts with a digit cannot be told from the digits before it. */
                        if (text_has_prefix(tokens[i].secret, "{n") && text_has_prefix(contexts[j][0], "\\u"))
                                continue;
                        (void)snprintf(text, sizeof text, "%s%s%s", contexts[j][0], tokens[i].secret, contexts[j][1]);
                        (void)snprintf(expected, sizeof expected, "%s[REDACTED:%s]%s", contexts[j][0], tokens[i].name,
                         contexts[j][1]);
                        assert_scrubbed(s, text, expected);
                }
}

static void test_token_inside_a_word_or_too_short_is_not_changed(void **state)
{
        (void)state;
        CLEANUP_SCRUBBER struct scrubber *s = new_scrubber();
        for (size_t i = 0; i < ARRAY_SIZE(tokens); i++) {
                CLEANUP_FREE char *secret = expand(tokens[i].secret);
                char text[512];
                (void)snprintf(text, sizeof text, "x%s y", secret);
                assert_unchanged(s, text);
                (void)snprintf(text, sizeof text, "_%s y", secret);
                assert_unchanged(s, text);
                if (strncmp(secret, "LS0t", 4) == 0)
                        continue; /* its prefix alone is enough */
                (void)snprintf(text, sizeof text, "%.*s y", (int)strlen(secret) - 1, secret);
                assert_unchanged(s, text);
        }
}

static void test_each_pattern_of_the_table_is_listed_here(void **state)
{
        (void)state;
        static const char *const tested_elsewhere[] = {
                "pem-private-key", "putty-private-key", "aws-secret-key", "aws-session-token", "azure-storage-key",
                "azure-shared-access-key", "azure-sas-signature", "npm-auth-token", "docker-config-auth",
                "slack-webhook",
                "discord-webhook", "teams-webhook", "jwt", "basic-auth-url", "authorization-header",
                "secret-env-assignment",
                "secret-assignment",
        };
        for (size_t i = 0; i < secret_pattern_count; i++) {
                bool found = false;
                for (size_t j = 0; j < ARRAY_SIZE(tokens); j++)
                        found |= strcmp(secret_patterns[i].name, tokens[j].name) == 0;
                for (size_t j = 0; j < ARRAY_SIZE(tested_elsewhere); j++)
                        found |= strcmp(secret_patterns[i].name, tested_elsewhere[j]) == 0;
                if (!found)
                        fail_msg("no test of %s", secret_patterns[i].name);
        }
}

static void test_longer_token_is_replaced_completely_or_not_at_all(void **state)
{
        (void)state;
        CLEANUP_SCRUBBER struct scrubber *s = new_scrubber();
        assert_scrubbed(s, "ghp_{a80} b", R("github-pat") " b");
        assert_scrubbed(s, "sk-ant-api03-{d93}AA.", R("anthropic-api-key") ".");
        assert_scrubbed(s, "sk-proj-{d300}\n", R("openai-api-key") "\n");
        assert_scrubbed(s, "glpat-{d27}.01.{l9} b", R("gitlab-token") " b");
        assert_unchanged(s, "AKIA{u17}");
        assert_unchanged(s, "AIza{d36}");
        assert_unchanged(s, "npm_{a37}");
}

static void test_text_that_resembles_a_token_is_not_changed(void **state)
{
        (void)state;
        CLEANUP_SCRUBBER struct scrubber *s = new_scrubber();
        assert_unchanged(s, "task-force-one-two-three-four sk-SK risk-{a20} ask-{a20}");
        assert_unchanged(s, "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx sk-abcdefghijklmnopqrstuvwxyz");
        assert_unchanged(s, "EAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
        assert_unchanged(s, "ghp_short akia{u16} AKIA{l16}");
        assert_unchanged(s, "secret_santa_is_a_very_long_identifier_with_words");
        assert_unchanged(s, "commit {h40} sha256:{h64} {h8}-{h4}-{h4}-{h4}-{h12}");
}

/* --- values, recognized by the text around them --- */

static void test_values_are_replaced_and_their_names_stay(void **state)
{
        (void)state;
        CLEANUP_SCRUBBER struct scrubber *s = new_scrubber();
        static const char *const cases[][2] = {
                { "aws_secret_access_key = {s40}\n", "aws_secret_access_key = " R("aws-secret-key") "\n" },
                { "\"SecretAccessKey\": \"{s40}\",", "\"SecretAccessKey\": \"" R("aws-secret-key") "\"," },
                { "aws_session_token={s120}==\n", "aws_session_token=" R("aws-session-token") "\n" },
                { "DefaultEndpointsProtocol=https;AccountKey={s86}==;End",
                  "DefaultEndpointsProtocol=https;AccountKey=" R("azure-storage-key") ";End" },
                { "SharedAccessKey={s43}=", "SharedAccessKey=" R("azure-shared-access-key") },
                { "?sv=2022&sig={a43}%3D&se=1", "?sv=2022&sig=" R("azure-sas-signature") "&se=1" },
                { "//registry/:_authToken={d36}\n", "//registry/:_authToken=" R("npm-auth-token") "\n" },
                { "\"auth\": \"{s24}==\"", "\"auth\": \"" R("docker-config-auth") "\"" },
                { "https://hooks.slack.com/services/T{u8}/B{u8}/{a24}",
                  "https://hooks.slack.com/services/" R("slack-webhook") },
                { "discord.com/api/webhooks/{n18}/{d68} ", "discord.com/api/webhooks/{n18}/" R("discord-webhook") " " },
                { "a.webhook.office.com/webhookb2/{h8}-{h4}-{h4}-{h4}-{h12}/x ",
                  "a.webhook.office.com/webhookb2/" R("teams-webhook") " " },
                { "Authorization: Bearer {d40}\r\n", "Authorization: Bearer " R("authorization-header") "\r\n" },
                { "-H 'authorization: Basic {s20}=='", "-H 'authorization: Basic " R("authorization-header") "'" },
                { "\"Authorization\": \"token {a40}\"", "\"Authorization\": \"token " R("authorization-header") "\"" },
                { "api_key = '{a24}'", "api_key = '" R("secret-assignment") "'" },
                { "\"client-secret\":\"{a24}\"", "\"client-secret\":\"" R("secret-assignment") "\"" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                assert_scrubbed(s, cases[i][0], cases[i][1]);
        assert_unchanged(s, "aws_secret_access_key = {s41}\n");
        assert_unchanged(s, "Authorization: Bearer $TOKEN\nAuthorization: Bearer <token>\n");
        assert_unchanged(s, "api_key = 'get_the_key_from_somewhere' password: \"is required here\"");
}

static void test_json_web_tokens_are_replaced(void **state)
{
        (void)state;
        CLEANUP_SCRUBBER struct scrubber *s = new_scrubber();
        assert_scrubbed(s, "a eyJ{a33}.eyJ{d60}.{d43} b", "a " R("jwt") " b");
        assert_scrubbed(s, "\\neyJ{a33}.eyJ{d60}.{d43}\\n", "\\n" R("jwt") "\\n");
        assert_scrubbed(s, "eyJ{a2000}.eyJ{d4000}.{d400}\n", R("jwt") "\n");
        assert_unchanged(s, "eyJ{a33} {a33}.{a20} a.eyJ{a20}");
}

static void test_only_the_credentials_of_a_url_are_replaced(void **state)
{
        (void)state;
        CLEANUP_SCRUBBER struct scrubber *s = new_scrubber();
        assert_scrubbed(s, "git clone https://alice:{a12}@host.net/x.git y",
                        "git clone https://" R("basic-auth-url") "@host.net/x.git y");
        assert_scrubbed(s, "postgres://app:p@ss:{a6}@db:5432/app", "postgres://" R("basic-auth-url") "@db:5432/app");
        assert_scrubbed(s, "redis://:{a12}@[::1]:6379", "redis://" R("basic-auth-url") "@[::1]:6379");
        assert_scrubbed(s, "https://x:ghp_{a36}@github.com", "https://" R("basic-auth-url") "@github.com");
        assert_unchanged(s, "http://host:8080/a@b http://host:80 see http://a/b:c@d");
        assert_unchanged(s, "http://user:password@host http://u:$PASS@host http://u:${P}@host");
        assert_unchanged(s, "http://u:<pw>@host http://u:****@host");
        assert_unchanged(s, "mailto:a@b.c ssh://git@host/x");
}

static void test_secret_values_of_environment_variables_are_replaced(void **state)
{
        (void)state;
        CLEANUP_SCRUBBER struct scrubber *s = new_scrubber();
        static const char *const cases[][2] = {
                { "DB_PASSWORD=hunter2\n", "DB_PASSWORD=" R("secret-env-assignment") "\n" },
                { "OPENAI_API_KEY=correcthorse\n", "OPENAI_API_KEY=" R("secret-env-assignment") "\n" },
                { "OPENAI_API_KEY=sk-proj-{d60}\n", "OPENAI_API_KEY=" R("openai-api-key") "\n" },
                { "export DB_PASSWORD='two words'; x", "export DB_PASSWORD='" R("secret-env-assignment") "'; x" },
                { "GITHUB_TOKEN=\"{a20}\" make", "GITHUB_TOKEN=\"" R("secret-env-assignment") "\" make" },
                { "MY_SECRET={a10} CI_JOB_TOKEN={a10}",
                  "MY_SECRET=" R("secret-env-assignment") " CI_JOB_TOKEN=" R("secret-env-assignment") },
                { "AWS_SECRET_ACCESS_KEY={s40}", "AWS_SECRET_ACCESS_KEY=" R("aws-secret-key") },
                { "  POSTGRES_PASSWORD: {a16}\n", "  POSTGRES_PASSWORD: " R("secret-env-assignment") "\n" },
                { "\"API_TOKEN\": \"{a16}\"", "\"API_TOKEN\": \"" R("secret-env-assignment") "\"" },
                { "\\\"API_TOKEN\\\": \\\"{a16}\\\"", "\\\"API_TOKEN\\\": \\\"" R("secret-env-assignment") "\\\"" },
                { "SECRET_KEY = '{a50}'", "SECRET_KEY = '" R("secret-env-assignment") "'" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                assert_scrubbed(s, cases[i][0], cases[i][1]);
        static const char *const unchanged[] = {
                "API_KEY=\n", "API_KEY=$OTHER_KEY\n", "API_KEY=${OTHER_KEY:-x}\n", "API_KEY=$(cat keyfile)\n",
                "PASSWORD=<password>", "TOKEN=your-token-here", "TOKEN=changeme123", "SECRET=short",
                "KEYBOARD=us-international", "MONKEY=see-monkey-do", "API_KEY_FILE=/run/secrets/api_key",
                "TOKEN_URL=https://host/token", "MAX_TOKENS=1234567890", "ERR_TOKEN=ERR_BAD_TOKEN_KIND,",
                "X_TOKEN=0x10100400,", "PASSWORD = getpass.getpass()", "TOKEN_TYPE = 'urn:ietf:token-type'",
                "HASH_KEY: some words",
        };
        for (size_t i = 0; i < ARRAY_SIZE(unchanged); i++)
                assert_unchanged(s, unchanged[i]);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_each_token_is_replaced_in_any_context),
                cmocka_unit_test(test_token_inside_a_word_or_too_short_is_not_changed),
                cmocka_unit_test(test_each_pattern_of_the_table_is_listed_here),
                cmocka_unit_test(test_longer_token_is_replaced_completely_or_not_at_all),
                cmocka_unit_test(test_text_that_resembles_a_token_is_not_changed),
                cmocka_unit_test(test_values_are_replaced_and_their_names_stay),
                cmocka_unit_test(test_json_web_tokens_are_replaced),
                cmocka_unit_test(test_only_the_credentials_of_a_url_are_replaced),
                cmocka_unit_test(test_secret_values_of_environment_variables_are_replaced),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
