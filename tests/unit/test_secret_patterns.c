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
        { "google-api-key", "AQ.Ab{d40}" },
        { "google-refresh-token", "1//0{d40}" },
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
        { "vercel-token", "vcp_{a20}" },
        { "vercel-token", "vck_{a20}" },
        { "vercel-token", "vercel_blob_rw_{a16}_{a30}" },
        { "render-token", "rnd_{a24}" },
        { "nats-seed", "SUA{b55}" },
        { "netlify-token", "nfp_{a36}" },
        { "supabase-token", "sbp_{h40}" },
        { "supabase-secret-key", "sb_secret_{d22}" },
        { "databricks-token", "dapi{h32}" },
        { "planetscale-token", "pscale_tkn_{d32}" },
        { "planetscale-token", "pscale_pw_{d32}" },
        { "neon-api-key", "napi_{l64}" },
        { "mongodb-atlas-secret", "mdb_sa_sk_{d40}" },
        { "openshift-token", "sha256~{d43}" },
        { "tailscale-key", "tskey-auth-{a6}-{a16}" },
        { "tailscale-key", "tskey-{a12}-{a16}" },
        { "vault-token", "hvs.{d24}" },
        { "terraform-token", "{a14}.atlasv1.{d60}" },
        { "pulumi-token", "pul-{h40}" },
        { "doppler-token", "dp.pt.{a40}" },
        { "infracost-key", "ico-{a32}" },
        { "1password-service-account", "ops_eyJ{d200}" },
        { "1password-secret-key", "A3-{u6}-{u6}-{u5}-{u5}-{u5}-{u5}" },
        { "github-fine-grained-pat", "github_pat_{a22}" },
        { "github-pat", "ghp_{a36}" },
        { "github-oauth", "gho_{a36}" },
        { "github-oauth", "ghu_{a36}" },
        { "github-oauth", "ghs_{a36}" },
        { "github-oauth", "ghr_{a36}" },
        { "gitlab-token", "glpat-{d20}" },
        { "gitlab-token", "gldt-{d20}" },
        { "gitlab-token", "glrt-{d20}" },
        { "gitlab-token", "glwt-{d20}" },
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
        { "anthropic-api-key", "sk-ant-{d15}" },
        { "openrouter-api-key", "sk-or-v1-{h13}" },
        { "openai-api-key", "sk-proj-{d12}" },
        { "openai-api-key", "sk-svcacct-{d12}" },
        { "openai-api-key", "sk-admin-{d12}" },
        { "openai-api-key", "sk-{a16}" },
        { "openai-api-key", "sk-lf-{h8}-{h4}-{h3}" },
        { "huggingface-token", "hf_{w34}" },
        { "huggingface-token", "api_org_{w34}" },
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
        { "slack-token", "xoxs-{a10}" },
        { "slack-token", "xoxe-{a10}" },
        { "slack-token", "xoxd-{a10}" },
        { "slack-app-token", "xapp-1-{u8}" },
        { "discord-bot-token", "MTA4{a19}.G{a5}.{d27}" },
        { "telegram-bot-token", "{n9}:AA{d33}" },
        { "twilio-api-key", "SK{h32}" },
        { "twilio-api-key", "AC{h32}" },
        { "sendgrid-api-key", "SG.{d22}.{d43}" },
        { "mailgun-api-key", "key-{h32}" },
        { "mailchimp-api-key", "{h32}-us1" },
        { "brevo-api-key", "xkeysib-{h64}-{a16}" },
        { "stripe-live-key", "sk_live_{a16}" },
        { "stripe-live-key", "rk_live_{a16}" },
        { "stripe-live-key", "sk_org_live_{a16}" },
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
        { "sentry-token", "sntrys_eyJ{d40}" },
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
                { "", "" }, { "a ", " b\n" }, { "x=\"", "\"," }, { "(", ")" }, { "'", "';" }, { "[", "]," },
                { "{\"a\":\"", "\"}" }, { "", ";\n" }, { "https://h/?t=", "&u=1" },
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
                "secret-assignment", "secret-argument", "netrc-password",
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
        assert_scrubbed(s, "glpat-{d300}.01.{l9},", R("gitlab-token") ",");
        assert_scrubbed(s, "github_pat_{a22}_{a59}\"", R("github-fine-grained-pat") "\"");
        assert_scrubbed(s, "ghs_{n7}_eyJ{d33}.eyJ{d300}.{d160})", R("github-oauth") ")");
        assert_scrubbed(s, "xoxb-{n12}-{n13}-{a24};", R("slack-token") ";");
        assert_scrubbed(s, "xoxe.xoxp-1-{a160};", "xoxe." R("slack-token") ";");
        assert_scrubbed(s, "xoxp-{n12}-{n12}-{n13}-{h32})", R("slack-token") ")");
        assert_scrubbed(s, "xapp-1-A{u10}-{n13}-{h64}'", R("slack-app-token") "'");
        assert_scrubbed(s, "sk-{a48} sk-{h32} sk-lf-{h8}-{h4}-{h4}-{h4}-{h12}",
                        R("openai-api-key") " " R("openai-api-key") " " R("openai-api-key"));
        assert_scrubbed(s, "sk-svcacct-{d160} sk-admin-{d156}", R("openai-api-key") " " R("openai-api-key"));
        assert_scrubbed(s, "sk-or-v1-{h64}, sk-ant-oat01-{d93}AA",
                        R("openrouter-api-key") ", " R("anthropic-api-key"));
        assert_scrubbed(s, "hf_{a37}. tskey-client-{a17}CNTRL-{a32}", R("huggingface-token") ". " R("tailscale-key"));
        assert_scrubbed(s, "sk_live_{a99} rk_test_{a99} vck_{a60} vcp_{a56}",
                        R("stripe-live-key") " " R("stripe-test-key") " " R("vercel-token") " " R("vercel-token"));
        assert_scrubbed(s, "pypi-AgEIcHlwaS5vcmc{d160}, whsec_{s64}", R("pypi-token") ", " R("stripe-webhook-secret"));
        assert_scrubbed(s, "{a0}MTA4{a22}.X{a5}.{d38} x", R("discord-bot-token") " x");
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
        assert_unchanged(s, "sk-container-id-1 sk-estimator-doc-link sk-toggleable__label-arrow sk-learn-2-and-more");
        assert_unchanged(s, "xoxb-your-token-goes-here xoxb-xxxxxxxxxxxxxxxx vcp_some_function_name hf_{l34}");
        assert_unchanged(s, "github_pat_with_all_the_scopes_of_a_user a.{d26}.G{a5}.{d27}");
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
        assert_scrubbed(s, "aws_secret_access_key = {s41}\n", "aws_secret_access_key = " R("secret-assignment") "\n");
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

/* --- settings --- */

#define A "secret-assignment"
#define E "secret-env-assignment"
#define G "secret-argument"

/* The text between $ and ~ is the secret. The scrubber finds none in this file: no value begins with $. */
static const struct {
        const char *name, *text;
} settings[] = {
        /* configuration files */
        { A, "password = ${l8}~" }, { A, "password=${l8}~" }, { A, "password: ${l8}~" },
        { A, "password: ${l8}~  # of the test server" }, { A, "password      =   ${c6}2~" },
        { A, "secret=$s3cr3tv4lue~" }, { A, "secret = $kq3Zx81bT~" }, { A, "token=$abcdefghijklm~" },
        { E, "PASSWORD: \"${l8}~\"" }, { A, "db_password='${l8}~'" }, { A, "\"apiKey\": \"${a8}~\"," },
        { A, "{\"password\":\"${l8}~\",\"user\":\"u\"}" }, { A, "  password: '$tr0ub4dor&3~'" },
        { A, "spring.datasource.password=${c7}~" }, { A, "db.password = $Summer2024!~" },
        { A, "password = \"$p@ss;w0(rd~\"" }, { A, "passwd = $l3tmein,x~" }, { A, "pwd = '${l8}~'" },
        { A, "passphrase: $correct-horse-7~" }, { A, "psk=\"$letmein12~\"" }, { A, "smtp_pass = ${l8}~" },
        { A, "dbPass = \"${l8}~\"" }, { A, "PrivateKey = ${s43}=~" }, { A, "PresharedKey = ${s43}=~" },
        { A, "secret_key_base: ${h128}~" }, { A, "password: $aHVudGVyMng=~" }, { A, "api-key: ${h32}~" },
        { A, "{ password: '${l8}~', user: 'u' }" }, { A, "{user: u, password: ${l8}!~, port: 1}" },
        { A, "<password>${l8}~</password>" }, { A, "<add key=\"Password\" value=\"${l8}~\" />" },
        { A, "{\"name\": \"DB_PASSWORD\", \"value\": \"${l8}~\"}" },
        { A, "'password' => '${l8}~'," }, { A, ":password => \"${l8}~\"" }, { A, "password := \"${l8}~\"" },
        { A, "password: str = \"${l8}~\"" }, { A, "char password[] = \"${l8}~\";" },
        { A, "char secret[32] = \"${a8}~\";" }, { A, "password = b'${l8}~'" },
        { A, "config['password'] = '${l8}~'" }, { A, "\\\"password\\\": \\\"${l8}~\\\"" },
        { A, "X-Api-Key: ${a32}~" }, { A, "client_secret = \"${a24}~\"" }, { A, "token: ${a20}~" },
        { A, "access_token=${a20}~&expires=1" }, { A, "?token=${a8}~&x=1" }, { A, "api_key2 = ${a8}~" },
        { A, "password = \"$SuperSecret123~\"" }, { A, "password = \"$a\\\"bc9xy~\"" },
        /* what Read, Grep and diff put before a line, and a string in JSON */
        { A, "     7\tpassword=${c7}~" }, { A, "a.ini:7:password=${c7}~" }, { A, "+password=${c7}~" },
        { A, "user=u\\npassword=${c7}~\\nport=1" }, { A, "\"password=${c7}~\"" },
        /* shells */
        { E, "TOKEN=$abc123~" }, { E, "API_TOKEN=$test12~" },
        { E, "VAULT_TOKEN=$s.kz8.q2m~" }, { E, "SECRET=$abcdef~" }, { E, "PASSWORD=$123456~" },
        { E, "PASSWORD='$a b c d~'" },
        { E, "  POSTGRES_PASSWORD: ${c7}~" },
        { E, "export GITHUB_TOKEN=$k3Zq8W~; make" }, { E, "DB_PASS=${l8}~ ./run" }, { E, "SSHPASS=${l8}~" },
        { A, "export password=${c7}~" }, { A, "docker run -e password=${c7}~ x" },
        { E, "docker run -e MYSQL_PWD=${c7}~ x" }, { E, "PGPASSWORD=${c7}~ psql" },
        { A, "--password=${l8}~ x" }, { A, "--db-password=${c7}~" }, { G, "--password ${l8}~ -x" },
        { G, "--api-key '${a8}~'" }, { G, "--token ${a20}~" }, { A, "java -Ddb.password=${c7}~ x" },
        { G, "curl -u admin:${l8}~ http://h/" }, { G, "curl --user 'admin:${l8}~' http://h/" },
        { G, "#define DEFAULT_PASSWORD \"${l8}~\"" }, { G, "CREATE USER u IDENTIFIED BY '${l8}~'" },
        { G, "ALTER ROLE u WITH PASSWORD '${l8}~';" },
        /* connection strings */
        { A, "Server=h;User Id=u;Password=${c7}~;Timeout=5" }, { A, "\"Server=h;Pwd=${c7}~\"" },
        { A, "Server=h;Password=${l8}~; Port=1" }, { A, "AccountName=n;AccountKey=${s30}~;Suffix=x" },
        { A, "jdbc:mysql://h/d?user=u&password=${c7}~&ssl=1" }, { A, "host=h user=u password=${l8}~ dbname=d" },
        { "basic-auth-url", "postgres:/" "/$u:s3cret9~@h/db" }, { "basic-auth-url", "mongodb+srv:/" "/$u:letmein~@h/" },
        /* files of tools */
        { "netrc-password", "machine h login l password ${c7}~" }, { "netrc-password", "  password ${l8}~\n" },
        { "npm-auth-token", "//registry.npmjs.org/:_authToken=$a1b2c3d4~" },
        { "npm-auth-token", "_auth=$dXNlcjpwYXNz~" }, { "docker-config-auth", "\"auth\": \"$dXNlcjpwYXNz~\"" },
        { "authorization-header", "Authorization: Basic $dXNlcjpwYXNz~" },
        { "authorization-header", "Authorization: Bearer ${a8}~" },
        { "authorization-header", "Set(\"Authorization\", \"Bearer ${a8}~\")" },
        { "authorization-header", "-H 'Proxy-Authorization: Basic $dXNlcjpwYXNz~'" },
        { "authorization-header", "auth = 'Bearer ${a40}~'" },
        { "authorization-header", "Authorization: token ${h40}~" },
};

/* Code, references, placeholders and texts. */
static const char *const no_settings[] = {
        "password = getpass()", "password: string", "token = os.environ[\"X1Y2Z3\"]", "secret = None",
        "if (password == NULL)", "if (password == \"hunter2x\")", "while (token != 'a1b2c3d4')",
        "const char *password = read_line(f);", "password=$PASSWORD", "password = ${{ secrets.X1 }}",
        "PASSWORD=<your password>", "password=changeme1", "password = \"your-password-1\"",
        "password: \"{{ vault_pw1 }}\"",
        "password: \"${DB_PASSWORD1}\"", "password = %(password1)s", "password: required",
        "password: str | None = None",
        "password: Optional[str] = Field(None)", "token: u64x2,", "secret: [u8; 32]", "let secret: &str = key1x;",
        "password = self.password1", "password = config.db2.password", "token = next_token2", "token = tokens[1]",
        "token=token2, secret=secret2", "f(password=password1, token=self.token2)", "token = lexer->next1;",
        "token = buffer2 + offset3;", "token = base64url;", "secret = sha256;", "secret: \"hmac-sha256\"",
        "token_type = \"oauth2\"", "password: \"Password must have 8 characters\"", "login.password=Passwort",
        "password: \"Contrase\xc3\xb1" "a\"", "password: 'current-password'", "\"token\": \"access_token\"",
        "\"api_key\": \"OPENAI_API_KEY\"", "api_key=OPENAI_API_KEY", "API_KEY_FILE=/run/secrets/key1",
        "password_file: /run/secrets/pw1", "secret: projects/1/secrets/db1/versions/2", "secret: my-tls-cert-2024",
        "secretName: letsencrypt-2024", "--password PASSWORD1", "--token-file t1/token2", "--password string",
        "--password=<password>", "bypass=letmein1", "compass: north12", "sort_key = 'created_at2'",
        "password = hunter2x;", "{password: pass1word, x}", "token::Kind1", "case TOKEN_NUMBER1: return number1;",
        "password: \"\"", "password = ''", "PASSWORD=", "the password is required1 here", "password protected1 file",
        "a token 'x1y2z3' is not expected", "#define MAX_TOKEN \"unknown\"", "docker run -u 1000:1000 x",
        "docker run -u node:node x", "password: ENC[AES256_GCM,data:x1y2]", "password: vault:secret/db1#pw2",
        "secret: arn:aws:secretsmanager:eu-1:1:x2", "TOKEN=true", "password: 12345678", "token = 123456789",
        "Authorization: Bearer YOUR_ACCESS_TOKEN", "Authorization: Bearer realm=\"x\"",
        "Authorization: Basic something",
        "\"auth\": \"required\"", "_auth=base64.encode(x)", "password: test1234", "token: 'fake-a1b2c3'",
        "API_KEY=config.some.key", "password = \"test-password-1\"",
        "password = cfg.db2", "password: \"sha256\"", "password: hunter2x is the default",
        "password = 8characters or more",
        "PASSWORD: string", "NEW_PASSWORD: 'change'", "PASSWORD: password", "API_KEY=required",
        "<code>password=on|off</code>", "'/etc/passwd': 'root:x:0:0:r00t'", "login and password for3 x",
        "PASSWORD_MIN_LENGTH=12", "token_count = 100", "password >= hunter2", "password=required", "secret=generate",
};

/* Counts texts that are not scrubbed as expected, and prints them. */
static size_t count_wrong(struct scrubber *s, const char *text, const char *expected)
{
        CLEANUP_FREE char *expanded_text = expand(text);
        CLEANUP_FREE char *expanded_result = expand(expected);
        CLEANUP_FREE char *result = scrub(s, expanded_text);
        CLEANUP_FREE char *again = scrub(s, result);
        if (strcmp(result, expanded_result) == 0 && strcmp(again, result) == 0)
                return 0;
        print_error("%s: scrubbed to %s, then to %s\n", text, result, again);
        return 1;
}

static void test_values_of_settings_are_replaced_in_every_spelling(void **state)
{
        (void)state;
        static const char *const contexts[][2] = { { "", "" }, { "", "\n" }, { "a\n", "\nb" }, { "a\r\n", "\r\nb" } };
        CLEANUP_SCRUBBER struct scrubber *s = new_scrubber();
        size_t wrong = 0;
        for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
                char before[256], value[256], after[256] = "";
                assert_in_range(sscanf(settings[i].text, "%255[^$]$%255[^~]~%255[^\1]", before, value, after), 2, 3);
                for (size_t j = 0; j < ARRAY_SIZE(contexts); j++) {
                        char text[1024], expected[1024];
                        (void)snprintf(text, sizeof text, "%s%s%s%s%s", contexts[j][0], before, value, after,
                                       contexts[j][1]);
                        (void)snprintf(expected, sizeof expected, "%s%s[REDACTED:%s]%s%s", contexts[j][0], before,
                                       settings[i].name, after, contexts[j][1]);
                        wrong += count_wrong(s, text, expected);
                }
        }
        assert_int_equal(wrong, 0);
}

static void test_code_and_placeholders_in_settings_are_not_changed(void **state)
{
        (void)state;
        CLEANUP_SCRUBBER struct scrubber *s = new_scrubber();
        size_t wrong = 0;
        for (size_t i = 0; i < ARRAY_SIZE(no_settings); i++)
                wrong += count_wrong(s, no_settings[i], no_settings[i]);
        assert_int_equal(wrong, 0);
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
                cmocka_unit_test(test_values_of_settings_are_replaced_in_every_spelling),
                cmocka_unit_test(test_code_and_placeholders_in_settings_are_not_changed),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
