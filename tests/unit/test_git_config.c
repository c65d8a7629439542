/* Git configurations: which changes a box may make, how they are parsed, and which rebase to-do lists are harmless. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "policy/git_config.h"
#include "policy/git_config_parse.h"
#include "policy/git_names.h"

#define INIT "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n"
#define ORIGIN "[remote \"origin\"]\n\turl = https://example.com/a.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n"
#define MAIN "[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n"
#define LIB "[submodule \"lib\"]\n\tpath = lib\n\turl = ../lib.git\n"

/* A change: `why` is the start of the reason for a refusal, or NULL if the change is accepted. */
struct change {
        const char *old, *new, *why;
};

static void check(enum git_config_kind kind, const struct change *s)
{
        CLEANUP_TEXT struct text why = { 0 };
        size_t old_length = s->old ? strlen(s->old) : 0;
        bool accepted = git_config_may_change(kind, s->old, old_length, s->new, strlen(s->new), &why);
        const char *reason = accepted ? "" : why.data;
        if (accepted != !s->why || (s->why && strncmp(reason, s->why, strlen(s->why)) != 0))
                fail_msg("'%s' -> '%s': %s '%s' instead of '%s'", s->old ? s->old : "(none)", s->new,
                         accepted ? "accepted" : "refused", reason, s->why ? s->why : "accepted");
        assert_int_equal(git_config_may_change(kind, s->old, old_length, s->new, strlen(s->new), NULL), accepted);
}

static void check_all(enum git_config_kind kind, const struct change *changes, size_t count)
{
        for (size_t i = 0; i < count; i++)
                check(kind, &changes[i]);
}

static void test_changes_that_git_commands_make_are_accepted(void **state)
{
        (void)state;
        static const struct change changes[] = {
                { NULL, "", NULL },
                { NULL, INIT, NULL },
                { "", INIT, NULL },
                { NULL, "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n", NULL },
                { NULL, "[core]\n\tbare = true\n", NULL },
                { NULL, "[core]\n\tignorecase = true\n\tprecomposeunicode = true\n\tsymlinks = false\n", NULL },
                { INIT, INIT "[extensions]\n\trefstorage = files\n\tworktreeConfig = true\n", NULL },
                { INIT, INIT "[extensions]\n\trefstorage = reftable\n", "extensions.refstorage" },
                { "[core]repositoryformatversion=0", "[core]repositoryformatversion=1", NULL },
                { INIT, INIT ORIGIN, NULL },
                { INIT ORIGIN, INIT ORIGIN MAIN, NULL },
                { INIT ORIGIN, INIT ORIGIN "[remote \"fork\"]\n\turl = git@example.com:b.git\n", NULL },
                { NULL, ORIGIN "\tpromisor = true\n\tpartialclonefilter = blob:none\n\ttagOpt = --no-tags\n", NULL },
                { "", ORIGIN "[extensions]partialClone=origin", NULL },
                { ORIGIN, ORIGIN "\tfetch = +refs/heads/x:refs/remotes/origin/x\n", NULL },
                { ORIGIN, "[remote \"origin\"]\n\turl = https://example.com/a.git\n", NULL },
                { ORIGIN MAIN, ORIGIN "[branch \"main\"]\n\tremote = .\n\tmerge = refs/heads/x\n", NULL },
                { ORIGIN, ORIGIN "[branch \"a/b#c@d\"]\n\tremote = origin\n\tpushRemote = origin\n", NULL },
                { ORIGIN, ORIGIN "[branch \"x\"]\n\trebase = merges\n\tdescription = what it is\n", NULL },
                { ORIGIN, ORIGIN "[branch \"x\"]\n\tdescription = two\\nlines\\n\n", NULL },
                { INIT, INIT "[user]\n\tname = J\xc3\xb6rg \\\"x\\\" \\\\\n\temail = a@b\n", NULL },
                { "[user]\n\tname = a\n", "[user]\n\tname = b\n", NULL },
                { "[user]\n\tname = a\n", "", NULL },
                { INIT, INIT "[submodule]\n\tactive = .\n", NULL },
                { INIT, INIT "[submodule \"lib/x\"]\n\tactive = true\n\turl = ../x.git\n\tupdate = rebase\n", NULL },
                { INIT, INIT "[core]\n\tsparseCheckout = true\n\tsparseCheckoutCone\n[index]\n\tsparse = false\n",
                  NULL },
                { INIT, INIT "[core]autocrlf=input\neol=lf\nsafecrlf=warn\nwhitespace=-tab-in-indent,tabwidth=4",
                  NULL },
                { INIT, INIT "[core]quotePath=off\nabbrev=auto\n[gc]auto=0\n[index]version=4\nthreads=yes", NULL },
                { INIT, INIT "[pull]rebase=merges\nff=only\n[fetch]prune\n[push]default=simple\nautoSetupRemote=1",
                  NULL },
                { INIT, INIT "[merge]conflictStyle=zdiff3\nff=no\n[diff]algorithm=histogram\nrenames=copies", NULL },
                { INIT, INIT "[color]ui=always\nbranch=auto\n[color \"diff\"]old=bold #ff0000\n[advice]x=false", NULL },
                { INIT, INIT "[init]defaultBranch=main\n[rerere]enabled=TRUE", NULL },
        };
        check_all(GIT_CONFIG_REPOSITORY, changes, ARRAY_SIZE(changes));
}

/* Settings that may not be added, changed or removed: the text, and the name. */
static const char *const fixed_settings[][2] = {
        { "[core]\nfsmonitor=x", "core.fsmonitor" },
        { "[core]\nhooksPath=x", "core.hookspath" },
        { "[core]\nsshCommand=x", "core.sshcommand" },
        { "[core]\neditor=x", "core.editor" },
        { "[core]\npager=x", "core.pager" },
        { "[core]\naskPass=x", "core.askpass" },
        { "[core]\ngitProxy=x", "core.gitproxy" },
        { "[core]\nworktree=/", "core.worktree" },
        { "[core]\nattributesFile=x", "core.attributesfile" },
        { "[core]\nexcludesFile=x", "core.excludesfile" },
        { "[core]\nalternateRefsCommand=x", "core.alternaterefscommand" },
        { "[core]\nprotectHFS=false", "core.protecthfs" },
        { "[core]\ncommentChar=x", "core.commentchar" },
        { "[core]\nsplitIndex=true", "core.splitindex" },
        { "[alias]\nx=!sh", "alias.x" },
        { "[filter \"x\"]\nsmudge=x", "filter.x.smudge" },
        { "[filter \"x\"]\nprocess=x", "filter.x.process" },
        { "[diff \"x\"]\ncommand=x", "diff.x.command" },
        { "[diff \"x\"]\ntextconv=x", "diff.x.textconv" },
        { "[diff]\nexternal=x", "diff.external" },
        { "[merge \"x\"]\ndriver=x", "merge.x.driver" },
        { "[merge]\ntool=x", "merge.tool" },
        { "[mergetool \"x\"]\ncmd=x", "mergetool.x.cmd" },
        { "[difftool \"x\"]\ncmd=x", "difftool.x.cmd" },
        { "[credential]\nhelper=x", "credential.helper" },
        { "[credential \"u\"]\nhelper=x", "credential.u.helper" },
        { "[http]\nproxy=x", "http.proxy" },
        { "[http]\nsslVerify=false", "http.sslverify" },
        { "[http \"u\"]\nextraHeader=x", "http.u.extraheader" },
        { "[url \"u\"]\ninsteadOf=x", "url.u.insteadof" },
        { "[url \"u\"]\npushInsteadOf=x", "url.u.pushinsteadof" },
        { "[gpg]\nprogram=x", "gpg.program" },
        { "[gpg \"ssh\"]\nprogram=x", "gpg.ssh.program" },
        { "[commit]\ngpgSign=true", "commit.gpgsign" },
        { "[commit]\ntemplate=x", "commit.template" },
        { "[user]\nsigningKey=x", "user.signingkey" },
        { "[include]\npath=x", "include.path" },
        { "[include \"x\"]\npath=x", "include.x.path" },
        { "[includeIf \"gitdir:/\"]\npath=x", "includeif.gitdir:/.path" },
        { "[protocol \"ext\"]\nallow=always", "protocol.ext.allow" },
        { "[sequence]\neditor=x", "sequence.editor" },
        { "[remote \"n\"]\nuploadpack=x", "remote.n.uploadpack" },
        { "[remote \"n\"]\nvcs=x", "remote.n.vcs" },
        { "[remote \"n\"]\nreceivepack=x", "remote.n.receivepack" },
        { "[remote \"n\"]\nproxy=x", "remote.n.proxy" },
        { "[remote \"origin\"]\npushurl=/x", "remote.origin.pushurl" },
        { "[remote \"n\"]\nmirror=true", "remote.n.mirror" },
        { "[remote \"n\"]\npush=x", "remote.n.push" },
        { "[remote]\npushDefault=n", "remote.pushdefault" },
        { "[trailer \"x\"]\ncommand=x", "trailer.x.command" },
        { "[uploadpack]\npackObjectsHook=x", "uploadpack.packobjectshook" },
        { "[receive]\ndenyCurrentBranch=false", "receive.denycurrentbranch" },
        { "[safe]\ndirectory=*", "safe.directory" },
        { "[man]\nviewer=x", "man.viewer" },
        { "[browser \"x\"]\ncmd=x", "browser.x.cmd" },
        { "[help]\nautocorrect=1", "help.autocorrect" },
        { "[sendemail]\nsmtpServer=/x", "sendemail.smtpserver" },
        { "[instaweb]\nhttpd=x", "instaweb.httpd" },
        { "[interactive]\ndiffFilter=x", "interactive.difffilter" },
        { "[pager]\nlog=x", "pager.log" },
        { "[extensions]\nfoo=true", "extensions.foo" },
        { "[lfs]\nurl=x", "lfs.url" },
        { "[maintenance]\nauto=true", "maintenance.auto" },
        { "[feature]\nmanyFiles=true", "feature.manyfiles" },
        { "[submodule]\nrecurse=true", "submodule.recurse" },
        { "[init]\ntemplateDir=x", "init.templatedir" },
        { "[branch]\nautoSetupMerge=true", "branch.autosetupmerge" },
        { "[ \"x\"]\ny=z", ".x.y" },
        { "[core \"x\"]\nbare=false", "core.x.bare" },
        { "[user \"x\"]\nname=y", "user.x.name" },
};

static void test_settings_that_run_programs_or_redirect_are_refused(void **state)
{
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(fixed_settings); i++) {
                char old[512], new[512], removed[256];
                (void)snprintf(old, sizeof old, "%s", INIT ORIGIN);
                (void)snprintf(new, sizeof new, "%s%s\n", INIT ORIGIN, fixed_settings[i][0]);
                check(GIT_CONFIG_REPOSITORY, &(struct change){ old, new, fixed_settings[i][1] });
                check(GIT_CONFIG_WORKTREE, &(struct change){ "", fixed_settings[i][0], fixed_settings[i][1] });
                check(GIT_CONFIG_MODULES, &(struct change){ "", fixed_settings[i][0], fixed_settings[i][1] });
                /* If the person has the setting, it stays, while other settings may change. */
                (void)snprintf(removed, sizeof removed, "%s: it may not be removed", fixed_settings[i][1]);
                check(GIT_CONFIG_REPOSITORY, &(struct change){ new, old, removed });
                (void)snprintf(old, sizeof old, "%s%s\n[user]\nname=x\n", INIT ORIGIN, fixed_settings[i][0]);
                check(GIT_CONFIG_REPOSITORY, &(struct change){ new, old, NULL });
                (void)snprintf(old, sizeof old, "%s%s1\n", INIT ORIGIN, fixed_settings[i][0]);
                check(GIT_CONFIG_REPOSITORY, &(struct change){ new, old, fixed_settings[i][1] });
        }
}

static void test_dangerous_and_malformed_values_are_refused(void **state)
{
        (void)state;
        static const struct change changes[] = {
                { "[core]repositoryformatversion=1", "[core]repositoryformatversion=0",
                  "core.repositoryformatversion" },
                { NULL, "[core]repositoryformatversion=2", "core.repositoryformatversion" },
                { "[core]repositoryformatversion=1", "[core]bare=false", "core.repositoryformatversion: it may" },
                { "[core]bare=false", "[core]bare=true", "core.bare: it may not be changed" },
                { "[core]bare=false", "", "core.bare: it may not be changed" },
                { "[core]bare=false", "[core]bare=false\nbare=true", "core.bare" },
                { NULL, "[core]bare=maybe", "core.bare: this value is refused" },
                { NULL, "[core]autocrlf=x", "core.autocrlf" },
                { NULL, "[core]eol", "core.eol" },
                { NULL, "[core]eol=", "core.eol" },
                { NULL, "[core]abbrev=1x", "core.abbrev" },
                { NULL, "[core]whitespace=$(x)", "core.whitespace" },
                { NULL, "[gc]auto=99999999999", "gc.auto" },
                { NULL, "[user]name=a\\nb", "user.name" },
                { NULL, "[user]name=a\\tb", "user.name" },
                { NULL, "[user]name=a\tb", "user.name" },
                { NULL, "[user]name=a\x1b[1m", "user.name" },
                { NULL, "[user]name=\x80", "user.name" },
                { NULL, "[user]name=a\xc2\x9b" "b", "user.name" },
                { NULL, "[user]name", "user.name" },
                { NULL, "[pull]rebase=interactive", "pull.rebase" },
                { NULL, "[branch \"x\"]rebase=i", "branch.x.rebase" },
                { NULL, "[push]default=evil", "push.default" },
                { NULL, "[advice]x=!sh", "advice.x" },
                { NULL, "[color]ui=`x`", "color.ui" },
                { NULL, "[extensions]worktreeConfig=false", "extensions.worktreeconfig" },
                { NULL, "[extensions]objectformat=md5", "extensions.objectformat" },
                { NULL, "[extensions]partialclone=origin", "extensions.partialclone: not a remote" },
                { NULL, "[branch \"x\"]merge=main", "branch.x.merge" },
                { NULL, "[branch \"x\"]merge=refs/heads/../../x", "branch.x.merge" },
                { NULL, "[branch \"../x\"]merge=refs/heads/x", "branch.../x.merge: the name" },
                { NULL, "[branch \"-x\"]merge=refs/heads/x", "branch.-x.merge: the name" },
                { NULL, "[branch \"\"]merge=refs/heads/x", "branch..merge: the name" },
                { NULL, "[branch \"a\rb\"]merge=refs/heads/x", "branch.a\\x0db.merge: the name" },
                { NULL, "[submodule \"a/../b\"]url=https://h/x", "submodule.a/../b.url: the name" },
                { NULL, "[submodule \".GIT\"]url=https://h/x", "submodule..GIT.url: the name" },
                { NULL, "[submodule \"x\"]update=!sh", "submodule.x.update" },
                { NULL, "[submodule \"x\"]update", "submodule.x.update" },
                { NULL, "[submodule \"x\"]path=x", "submodule.x.path" },
                { ORIGIN, ORIGIN "fetch=+refs/heads/*:refs/heads/*", "remote.origin.fetch: only into refs/remotes" },
                { ORIGIN, ORIGIN "fetch=refs/heads/*", "remote.origin.fetch" },
                { ORIGIN, ORIGIN "fetch=!x:refs/remotes/origin/x", "remote.origin.fetch" },
                { NULL, "[init]defaultBranch=!x", "init.defaultbranch" },
                { ORIGIN, ORIGIN "fetch=+refs/heads/*:refs/remotes/../heads/*", "remote.origin.fetch" },
                { ORIGIN, ORIGIN "tagopt=--upload-pack=x", "remote.origin.tagopt" },
                { NULL, "[remote \"-x\"]url=https://h/x", "remote.-x.url: the name" },
                { NULL, "[remote \"a b\"]url=https://h/x", "remote.a b.url: the name" },
                { NULL, "[remote \"ext::x\"]url=https://h/x", "remote.ext::x.url: the name" },
                { NULL, "[remote \"../x\"]url=https://h/x", "remote.../x.url: the name" },
        };
        check_all(GIT_CONFIG_REPOSITORY, changes, ARRAY_SIZE(changes));
}

static void test_existing_urls_and_branches_may_not_be_redirected(void **state)
{
        (void)state;
        static const char fork[] = ORIGIN MAIN "[remote \"fork\"]\nurl=https://h/x\n";
        static const struct change changes[] = {
                { ORIGIN, "[remote \"origin\"]\nurl=https://evil.example/a.git\n",
                  "remote.origin.url: an existing address" },
                { ORIGIN, ORIGIN "url=https://evil.example/", "remote.origin.url: an existing address stays" },
                { ORIGIN, "[remote \"origin\"]\nurl=/evil\n" ORIGIN, "remote.origin.url: an existing address stays" },
                { ORIGIN, "", "remote.origin.url: an existing address stays" },
                { ORIGIN, "[Remote.origin]\nURL = https://evil.example/\n" ORIGIN, "remote.origin.url: an existing" },
                { "[submodule \"x\"]url=../a", "[submodule \"x\"]url=../b", "submodule.x.url: an existing address" },
                /* A box must not activate settings of the person that are not in effect yet. */
                { "[remote \"x\"]uploadpack=p", "[remote \"x\"]uploadpack=p\nurl=https://h/x",
                  "remote.x.url: the section" },
                { "[submodule \"x\"]update=!p", "[submodule \"x\"]update=!p\nactive=true",
                  "submodule.x.active: the section" },
                /* A branch may get a remote. If it has one, it may not be moved to a new remote. */
                { ORIGIN, ORIGIN "[branch \"main\"]remote=fork", "branch.main.remote: not a remote of this file" },
                { ORIGIN, ORIGIN "[branch \"main\"]remote=ext::sh -c x", "branch.main.remote" },
                { ORIGIN, ORIGIN "[branch \"main\"]remote=/tmp/x", "branch.main.remote" },
                { ORIGIN, ORIGIN "[branch \"main\"]remote=./x", "branch.main.remote" },
                { ORIGIN, ORIGIN "[remote \"n\"]url=../n\n[branch \"main\"]remote=n", NULL },
                { ORIGIN MAIN, ORIGIN "[remote \"n\"]url=../n\n[branch \"main\"]remote=n\nmerge=refs/heads/main",
                  "branch.main.remote: not a remote of this file, or a new remote" },
                { ORIGIN MAIN, ORIGIN, "branch.main.remote: it may not be removed" }, /* the next box would set it */
                /* git fetches missing objects from a promisor by itself, so an existing repository may not get one. */
                { ORIGIN, ORIGIN "[remote \"n\"]url=../n\npromisor=true",
                  "remote.n.promisor: only in a new repository" },
                { ORIGIN, ORIGIN "[extensions]partialClone=origin",
                  "extensions.partialclone: only in a new repository" },
                { ORIGIN MAIN, ORIGIN MAIN "pushRemote=n\n[remote \"n\"]url=../n", "branch.main.pushremote" },
                { fork, ORIGIN "[branch \"main\"]remote=fork\nmerge=refs/heads/main\n[remote \"fork\"]url=https://h/x",
                  NULL },
                { fork, ORIGIN MAIN "pushRemote=fork\n[remote \"fork\"]url=https://h/x", NULL },
        };
        check_all(GIT_CONFIG_REPOSITORY, changes, ARRAY_SIZE(changes));
}

static void test_only_https_ssh_and_local_urls_are_accepted(void **state)
{
        (void)state;
        static const char *const accepted_urls[] = {
                "https://example.com/a.git", "https://user@example.com/a", "https://user:token@example.com:8443/a%20b",
                "https://[2001:db8::1]/a", "ssh://example.com/a", "ssh://git@example.com:2222/~/a",
                "git@example.com:a/b.git",
                "me+x@host:~/a b", "git@host:/a", "/srv/git/a.git", "/with space/a", "./a", "../a.git", "../../a",
                "..", "/a::b",
                "./ext::x", "/a:b",
        };
        static const char *const refused_urls[] = {
                "", "ext::sh -c x", "fd::3", "https::https://h/x", "x::y", "file:///x", "http://h/x", "git://h/x",
                "ftp://h/x",
                "HTTPS://h/x", "ssh+git://h/x", "git+ssh://h/x", "-x", "--upload-pack=x", "ssh://-oProxyCommand=x/y",
                "ssh://-x@h/y", "ssh://%2doProxyCommand=x/y", "ssh://h:x/y", "ssh://h", "ssh:///x", "ssh://u%40@h/x",
                "https://h", "https:///x", "https://h/%0ahost=evil", "https://h/%0d", "https://h/%00", "https://h/%7F",
                "https://h/%zz", "https://h/%", "https://h/a b", "https://h\\\\@evil/x", "https://-h/x", "https://h:/x",
                "https://h:123456/x", "https://a@b@c/x", "-u@h:x", "u@-h:x", "u@h:-x", "u@h::x", "u@h:", "@h:x", "h:x",
                "u@[h]:x", "relative", "a/b", "~/x", "~user/x", ".x", "...", "c:\\\\x", "u@h",
        };
        char new[256];
        for (size_t i = 0; i < ARRAY_SIZE(accepted_urls); i++) {
                (void)snprintf(new, sizeof new, "[remote \"n\"]url=\"%s\"", accepted_urls[i]);
                check(GIT_CONFIG_REPOSITORY, &(struct change){ NULL, new, NULL });
                (void)snprintf(new, sizeof new, "[submodule \"n\"]url=\"%s\"", accepted_urls[i]);
                check(GIT_CONFIG_MODULES, &(struct change){ NULL, new, NULL });
        }
        for (size_t i = 0; i < ARRAY_SIZE(refused_urls); i++) {
                (void)snprintf(new, sizeof new, "[remote \"n\"]url=\"%s\"", refused_urls[i]);
                check(GIT_CONFIG_REPOSITORY, &(struct change){ NULL, new, "remote.n.url: only https and ssh" });
        }
}

static void test_no_syntax_hides_a_setting_from_the_parser(void **state)
{
        (void)state;
        static const struct change changes[] = {
                { NULL, "[core]fsmonitor=x", "core.fsmonitor" },
                { NULL, "[user]name=x[core]\n[core]fsmonitor", "core.fsmonitor" },
                { NULL, "[CORE]\nFSMonitor = x", "core.fsmonitor" },
                { NULL, "\xef\xbb\xbf[core]fsmonitor=x", "core.fsmonitor" },
                { NULL, "[core]\r\n\tfsmonitor = x\r\n", "core.fsmonitor" },
                { NULL, "[user]name = a \\\n b\n[core]fsmonitor=x", "core.fsmonitor" },
                { NULL, "[user]name = a # \\\n[core]fsmonitor=x", "core.fsmonitor" },
                { NULL, "# \\\n[core]fsmonitor=x", "core.fsmonitor" },
                { NULL, "[user]name = \"a # b\"\n[core]fsmonitor=x", "core.fsmonitor" },
                { NULL, "[user]name = \"a\" # \"\n[core]fsmonitor=x # \"", "core.fsmonitor" },
                { NULL, "[user]name = a \\\n[core]fsmonitor=x", NULL },       /* a single value */
                { NULL, "[user]name = \"a\\\n[core]fsmonitor=x\"", NULL },    /* a single value */
                { NULL, "[user]name = a # [core]fsmonitor=x", NULL },
                { NULL, "; [core]\n# fsmonitor=x", NULL },
                { NULL, "[user]# [core]\nfsmonitor=x", "user.fsmonitor" },
                { NULL, "[core] ; c\nfsmonitor=x", "core.fsmonitor" },
                { NULL, "[core]\n\tfsmonitor", "core.fsmonitor" },
                { NULL, "[core]\n\tfsmonitor\n\tbare=false", "core.fsmonitor" },
                { NULL, "[core]bare=false\n[user]name=x\n[core]fsmonitor=x", "core.fsmonitor" },
                { NULL, "[color \"a\\\"]\\\\\"]x=red\n[core]fsmonitor=x", "core.fsmonitor" },
                { NULL, "[core.sub]fsmonitor=x", "core.sub.fsmonitor" },
                { NULL, "[Core.Sub \"X.Y\"]fsmonitor=x", "core.sub.X.Y.fsmonitor" },
                { NULL, "[remote.n]url=ext::x", "remote.n.url" },
                { NULL, "[remote.N \"x\"]url=https://h/x", NULL }, /* this is remote.n.x.url */
                { NULL, "[color \"a\n\"]x=red", "line 1 cannot be parsed" },
                { NULL, "[color \"a\\\n\"]x=red", "line 1 cannot be parsed" },
                { NULL, "[core", "line 1 cannot be parsed" },
                { NULL, "[core] bare=false\n\n]", "line 3 cannot be parsed" },
                { NULL, "[core]bare=\"false", "line 1 cannot be parsed" },
                { NULL, "[core]\nbare=\"false\n\"", "line 2 cannot be parsed" },
                { NULL, "[core]\n\nbare=\\x", "line 3 cannot be parsed" },
                { NULL, "[core]bare false", "line 1 cannot be parsed" },
                { NULL, "[core]1=2", "line 1 cannot be parsed" },
                { NULL, "[core]b_c=2", "line 1 cannot be parsed" },
                { NULL, "bare=false", "line 1 cannot be parsed" },
                { NULL, "[]a=b", "line 1 cannot be parsed" },
                { NULL, "\xef\xbb[core]", "line 1 cannot be parsed" },
                { NULL, "[user]name=\xff", "line 1 cannot be parsed" },
                { NULL, "<<<<<<< HEAD\n", "line 1 cannot be parsed" },
                { "[", "[user]name=x", "the present file cannot be parsed" },
                { "[", "[", NULL },
        };
        check_all(GIT_CONFIG_REPOSITORY, changes, ARRAY_SIZE(changes));
}

static void test_order_and_repetition_of_fixed_settings_may_not_change(void **state)
{
        (void)state;
        static const struct change changes[] = {
                { "[alias]a=x\na=y", "[alias]a=y\na=x", "alias.a" },
                { "[alias]a=x\na=y", "[alias]a=x", "alias.a" },
                { "[alias]a=x", "[alias]a=x\na=x", "alias.a" },
                { "[alias]a=x\nb=y", "[alias]b=y\na=x", "alias.b: its place among other settings changed" },
                { "[include]path=p\n[core]fsmonitor=no", "[core]fsmonitor=no\n[include]path=p",
                  "core.fsmonitor: its place" },
                { "[alias]a=x\nb=y", "[Alias]\n\tA = x\n[user]name=z\n[alias]\n\tb = \"y\" # c", NULL },
                { "[core]fsmonitor", "[core]fsmonitor=true", "core.fsmonitor" },
                { "[core]fsmonitor=", "[core]fsmonitor", "core.fsmonitor" },
                { "[alias \"A\"]x=y", "[alias \"a\"]x=y", "alias.A.x: it may not be removed" },
                { "[alias \"a\"]x=y", "[alias.A]x=y", NULL },
                /* If the last value is removed, the one before it takes effect. */
                { "[pull]rebase=interactive\nrebase=false", "[pull]rebase=interactive", "pull.rebase" },
                { "[pull]rebase=interactive\nrebase=false", "[pull]rebase=true", NULL },
                /* Values that versions of git parse differently must stay the same byte for byte. */
                { "[alias]a=x\ty", "[user]name=z\n[alias]a=x\ty", NULL },
                { "[alias]a=x\ty", "[alias]a=\"x\ty\"", "alias.a" },
                { "[alias]a=x y", "[alias]a=x\ty", "alias.a" },
                { "[alias]a=x\ty\n", "[alias]a=x\ty\n[user]name=z\n", NULL },
        };
        check_all(GIT_CONFIG_REPOSITORY, changes, ARRAY_SIZE(changes));
}

static void test_worktree_configuration_accepts_few_settings(void **state)
{
        (void)state;
        static const struct change changes[] = {
                { NULL, "[core]\n\tsparseCheckout = true\n\tsparseCheckoutCone = true\n[index]\n\tsparse = true\n",
                  NULL },
                { "[core]sparseCheckout=true", "[core]sparseCheckout=false", NULL },
                { NULL, "[core]bare=false", NULL },
                { NULL, "[core]bare=true", "core.bare" },
                { NULL, "[user]name=x", "user.name" },
                { NULL, "[remote \"x\"]url=https://h/x", "remote.x.url" },
        };
        check_all(GIT_CONFIG_WORKTREE, changes, ARRAY_SIZE(changes));
}

static void test_refs_lead_only_to_refs(void **state)
{
        (void)state;
#define ID "0123456789abcdef0123456789abcdef01234567"
        static const struct {
                const char *text;
                bool ref, updates;
        } rows[] = {
                { ID, true, false },
                { ID "\n", true, false },
                { ID "0123456789abcdef01234567\n", true, false },
                { "ref: refs/heads/main\n", true, false },
                { "ref: refs/remotes/origin/main", true, false },
                { "ref: commondir\n", false, false },
                { "ref: evil/refs/stash\n", false, false },
                { "ref: refs/../config\n", false, false },
                { "ref: refs/heads/a\nref: x", false, false },
                { ID "\n[core]\n", false, false },
                { "[core]\n\tfsmonitor = x\n", false, false },
                { "", false, true },
                { "refs/heads/a\n" ID "\n" ID "\n", false, true },
                { "refs/heads/a\n" ID "\n" ID "\nrefs/heads/b\n" ID "\n" ID "\n", false, true },
                { "commondir\n" ID "\n" ID "\n", false, false },
                { "refs/heads/a\n" ID "\n" ID "\nx/refs/z\n" ID "\n" ID "\n", false, false },
                { "refs/heads/a\n" ID "\n", false, false },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                if (git_ref_is_harmless(rows[i].text, strlen(rows[i].text)) != rows[i].ref ||
                    git_updates_are_harmless(rows[i].text, strlen(rows[i].text)) != rows[i].updates)
                        fail_msg("%s", rows[i].text);
        assert_false(git_ref_is_harmless("ref: refs/heads/a\0b", 19));
}

/* sequencer/opts; git cherry-pick -x A..B writes it. */
static void test_options_of_a_cherry_pick_run_no_program(void **state)
{
        (void)state;
        static const struct change changes[] = {
                { NULL, "[options]\n\trecord-origin = true\n\tmainline = 1\n\tedit = false\n", NULL },
                { NULL, "[options]\n\tstrategy = ort\n\tstrategy-option = theirs\n", NULL },
                { NULL, "[options]\n\tstrategy = evil\n", "options.strategy" },
                { NULL, "[options]\n\tstrategy-option = `x`\n", "options.strategy-option" },
                { NULL, "[options]\n\tgpg-sign = x\n", "options.gpg-sign" },
                { NULL, "[core]\n\tfsmonitor = x\n", "core.fsmonitor" },
        };
        check_all(GIT_CONFIG_OPTIONS, changes, ARRAY_SIZE(changes));
}

static void test_gitmodules_accepts_only_safe_submodules(void **state)
{
        (void)state;
        static const struct change changes[] = {
                { NULL, LIB, NULL },
                { LIB, LIB "branch=main\nignore=dirty\nshallow=true\nfetchRecurseSubmodules=on-demand\nupdate=none",
                  NULL },
                { LIB, LIB "branch=.", NULL },
                { LIB, "[submodule \"lib\"]\n\tpath = moved/lib\n\turl = ../lib.git\n", NULL },
                { LIB, "[submodule \"lib\"]\n\tpath = lib\n\turl = ../other.git\n",
                  "submodule.lib.url: an existing address" },
                { LIB, "", "submodule.lib.url: an existing address stays" },
                { LIB, LIB "update=!sh -c x", "submodule.lib.update" },
                { LIB, LIB "ignore=x", "submodule.lib.ignore" },
                { LIB, LIB "branch=-x", "submodule.lib.branch" },
                { LIB, LIB "command=x", "submodule.lib.command" },
                { LIB, LIB "[user]name=x", "user.name" },
                { NULL, "[submodule \"x\"]path=.git/hooks", "submodule.x.path" },
                { NULL, "[submodule \"x\"]path=a/.Git/hooks", "submodule.x.path" },
                { NULL, "[submodule \"x\"]path=a/.git./b", "submodule.x.path" },
                { NULL, "[submodule \"x\"]path=a/git~1", "submodule.x.path" },
                { NULL, "[submodule \"x\"]path=../x", "submodule.x.path" },
                { NULL, "[submodule \"x\"]path=/x", "submodule.x.path" },
                { NULL, "[submodule \"x\"]path=-x", "submodule.x.path" },
                { NULL, "[submodule \"x\"]path=!x", "submodule.x.path" },
                { NULL, "[submodule \"x\"]path=\"sub\r\"", "submodule.x.path" },
                { NULL, "[submodule \"x\"]path=a//b", "submodule.x.path" },
                { NULL, "[submodule \"x\"]path=.gitignored/x", NULL },
                { NULL, "[submodule \"../x\"]path=x", "submodule.../x.path: the name" },
                { NULL, "[submodule \"a/.git/x\"]path=x", "submodule.a/.git/x.path: the name" },
                { NULL, "[submodule]path=x", "submodule.path" },
        };
        check_all(GIT_CONFIG_MODULES, changes, ARRAY_SIZE(changes));
}

static void test_worktree_of_a_submodule_stays_in_the_workspace(void **state)
{
        (void)state;
        static const struct {
                const char *git_dir, *worktree;
                bool accepted;
        } rows[] = {
                { ".git/modules/lib", "../../../lib", true },
                { ".git/modules/a/b", "../../../../a/b", true },
                { ".git/modules/a/modules/b", "../../../../../a/b", true },
                { "project/.git/modules/lib", "../../../lib", true },
                { "project/.git/modules/lib", "../../../../elsewhere", true },
                { ".git/modules/lib", "../../../../lib", false },
                { ".git/modules/lib", "../../hooks", false },
                { ".git/modules/lib", "../lib", false },
                { ".git/modules/lib", "../../../.git/hooks", false },
                { ".git/modules/lib", "../../../a/../../x", false },
                { ".git/modules/lib", "../../..", false },
                { ".git/modules/lib", "../../../", false },
                { ".git/modules/lib", "/home", false },
                { ".git/modules/lib", "", false },
                { "/.git/modules/lib", "../../../lib", false },
                { "../.git/modules/lib", "../../../lib", false },
                { "", "lib", false },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                char text[128];
                (void)snprintf(text, sizeof text, "[core]worktree=\"%s\"", rows[i].worktree);
                if (git_config_may_change_submodule(rows[i].git_dir, NULL, 0, text, strlen(text), NULL) !=
                    rows[i].accepted)
                        fail_msg("%s %s", rows[i].git_dir, rows[i].worktree);
        }
        CLEANUP_TEXT struct text why = { 0 };
        assert_false(git_config_may_change_submodule(".git/modules/x", NULL, 0, "[core]pager=x", 13, &why));
        assert_string_equal(why.data, "core.pager");
        assert_true(git_config_may_change_submodule(".git/modules/x", NULL, 0, ORIGIN, strlen(ORIGIN), NULL));
        assert_false(git_config_may_change_submodule(NULL, NULL, 0, "[core]worktree=../x", 19, NULL));
}

static void test_nul_bytes_are_refused(void **state)
{
        (void)state;
        static const char texts[][24] = { "[user]name=a\0b", "[user]\n# \0", "[core \"x\0\"]a=b", "[co\0re]a=b", "\0" };
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
                assert_false(git_config_may_change(GIT_CONFIG_REPOSITORY, NULL, 0, texts[i], sizeof texts[i], NULL));
        assert_true(git_config_may_change(GIT_CONFIG_REPOSITORY, NULL, 0, NULL, 0, NULL));
}

/* Returns `start`, `piece` repeated `count` times, and `end`. */
static char *repeat(const char *start, const char *piece, size_t count, const char *end)
{
        CLEANUP_TEXT struct text t = { 0 };
        text_add(&t, start);
        for (size_t i = 0; i < count; i++)
                text_add(&t, piece);
        text_add(&t, end);
        char *s = text_take(&t);
        assert_non_null(s);
        return s;
}

static void test_sizes_are_limited(void **state)
{
        (void)state;
        static const struct {
                const char *start, *piece;
                size_t count;
                const char *end, *why;
        } rows[] = {
                { "[advice]\n", "x\n", 10000, "", NULL },
                { "[advice]\n", "x\n", 10001, "", "more than 10000 settings" },
                { "[advice]\n", "[user]\n", 100000, "", NULL },
                { "", "\n", 1 << 20, "", NULL },
                { "", "\n", (1 << 20) + 1, "", "longer than 1048576 bytes" },
                { "", "[", 100000, "", "line 1 cannot be parsed" },
                { "[color \"", "x", 5000, "\"]a=red", "line 1 cannot be parsed" },
                { "[user]name=\"", "x\\\n", 900, "\"", "user.name" },
                { "[user]name=", "x", 800, "", NULL },
                { "[user]name=", "x", 801, "", "user.name" },
                { "[user]name=x # ", "y", 1000, "[core]fsmonitor=x", "line 1 is longer than 1000 bytes" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                CLEANUP_FREE char *text = repeat(rows[i].start, rows[i].piece, rows[i].count, rows[i].end);
                check(GIT_CONFIG_REPOSITORY, &(struct change){ NULL, text, rows[i].why });
        }
        /* Long lines of the person may stay. */
        CLEANUP_FREE char *old = repeat("[alias]x=", "y", 2000, "\n"), *new = repeat(old, "[user]name=x", 1, "");
        check(GIT_CONFIG_REPOSITORY, &(struct change){ old, new, NULL });
        /* But they may not be shortened: git would truncate them at another place. */
        CLEANUP_FREE char *comment = repeat("[user]\n# ", "y", 2000, "\n");
        CLEANUP_FREE char *shorter = repeat("[user]\n# ", "y", 1500, "\n");
        CLEANUP_FREE char *without_start = repeat("[user]\n", "y", 2000, "\n");
        check(GIT_CONFIG_REPOSITORY, &(struct change){ comment, shorter, "line 2 is longer than 1000 bytes" });
        check(GIT_CONFIG_REPOSITORY, &(struct change){ comment, without_start, "" });
}

static void test_reason_is_printable(void **state)
{
        (void)state;
        CLEANUP_TEXT struct text why = { 0 };
        static const char text[] = "[alias \"\x1b]0;x\x07\xc2\x9b\"]a=b";
        assert_false(git_config_may_change(GIT_CONFIG_REPOSITORY, NULL, 0, text, strlen(text), &why));
        assert_string_equal(why.data, "alias.\\x1b]0;x\\x07\\xc2\\x9b.a");
}

static void test_values_are_parsed_as_by_git(void **state)
{
        (void)state;
        static const struct {
                const char *text, *base, *key, *value;
        } rows[] = {
                { "[A]B", "a", "b", NULL },
                { "[a]b=", "a", "b", "" },
                { "[a]b =  c  d  # e", "a", "b", "c  d" },
                { "[a]b=\"  c;d  \" ; e", "a", "b", "  c;d  " },
                { "[a]b=c\\\nd", "a", "b", "cd" },
                { "[a]b=c \\\r\n d\r\n", "a", "b", "c  d" },
                { "[a]b=\\n\\t\\b\\\\\\\"", "a", "b", "\n\t\b\\\"" },
                { "[a]b=c\" d\"e\"\"", "a", "b", "c de" },
                { "[a]b=c\r", "a", "b", "c" },
                { "[a]b=\" \"", "a", "b", " " },
                { "[a]b=c \"\" ", "a", "b", "c " },
                { "[a \"B\\\"\\c\"]D=e", "a.B\"c", "d", "e" },
                { "[A.B]c=d", "a.b", "c", "d" },
                { "[A.B \"C\"]c=d", "a.b.C", "c", "d" },
                { "[a]b\t= c", "a", "b", "c" },
                { "[a]x-1=y", "a", "x-1", "y" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                CLEANUP_ARENA struct arena *a = arena_new(GIT_CONFIG_ARENA_BYTES);
                struct git_config config;
                assert_true(git_config_parse(a, rows[i].text, strlen(rows[i].text), &config, NULL));
                assert_int_equal(config.count, 1);
                assert_string_equal(config.entries[0].base, rows[i].base);
                assert_string_equal(config.entries[0].key, rows[i].key);
                assert_int_equal(!config.entries[0].value, !rows[i].value);
                if (rows[i].value)
                        assert_string_equal(config.entries[0].value, rows[i].value);
        }
}

static void test_to_do_lists_that_run_programs_are_refused(void **state)
{
        (void)state;
        static const struct {
                const char *text, *why;
        } rows[] = {
                { "", NULL },
                { "\n\n  \n\t\n\r\n", NULL },
                { "# exec x\n#\n  # y\n", NULL },
                { "pick 1234 subject; exec x\np 1 x\nreword 1\nr 1\nedit 1\ne 1\nsquash 1\ns 1\nfixup 1\nf -C 1\n",
                  NULL },
                { "drop 1\nd 1\nbreak\nb\nnoop\nrevert 1\nlabel onto\nl x\nreset onto\nt [new root]\n", NULL },
                { "merge -C 1 x # Merge\nm -c 1 x\nupdate-ref refs/heads/x\nu refs/heads/y\r\n", NULL },
                { "\t pick 1", NULL },
                { "exec x", "line 1 may run a program" },
                { "pick 1\nx make\n", "line 2 may run a program" },
                { "pick 1\n\n \texec\tx\n", "line 3 may run a program" },
                { "exec", "line 1 may" },
                { "x\r\n", "line 1 may" },
                { "\rexec x\n", "line 1 may" },
                { "pick\rx\n", NULL }, /* git ends the command's name there too */
                { "picks 1", "line 1 may" },
                { "PICK 1", "line 1 may" },
                { "pickexec x", "line 1 may" },
                { "; comment", "line 1 may" },
                { "\x0b" "exec x", "line 1 may" },
                { "run x", "line 1 may" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                CLEANUP_TEXT struct text why = { 0 };
                bool harmless = git_todo_is_harmless(rows[i].text, strlen(rows[i].text), &why);
                const char *expected = rows[i].why;
                if (harmless != !expected || (expected && strncmp(why.data, expected, strlen(expected)) != 0))
                        fail_msg("'%s': %s", rows[i].text, harmless ? "harmless" : why.data);
                assert_int_equal(git_todo_is_harmless(rows[i].text, strlen(rows[i].text), NULL), harmless);
        }
        assert_false(git_todo_is_harmless("pick 1\0\nexec x", 15, NULL));
        assert_true(git_todo_is_harmless(NULL, 0, NULL));
        CLEANUP_FREE char *large = repeat("", "pick 1\n", 200000, "");
        assert_false(git_todo_is_harmless(large, strlen(large), NULL));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_changes_that_git_commands_make_are_accepted),
                cmocka_unit_test(test_settings_that_run_programs_or_redirect_are_refused),
                cmocka_unit_test(test_dangerous_and_malformed_values_are_refused),
                cmocka_unit_test(test_existing_urls_and_branches_may_not_be_redirected),
                cmocka_unit_test(test_only_https_ssh_and_local_urls_are_accepted),
                cmocka_unit_test(test_no_syntax_hides_a_setting_from_the_parser),
                cmocka_unit_test(test_order_and_repetition_of_fixed_settings_may_not_change),
                cmocka_unit_test(test_worktree_configuration_accepts_few_settings),
                cmocka_unit_test(test_refs_lead_only_to_refs),
                cmocka_unit_test(test_options_of_a_cherry_pick_run_no_program),
                cmocka_unit_test(test_gitmodules_accepts_only_safe_submodules),
                cmocka_unit_test(test_worktree_of_a_submodule_stays_in_the_workspace),
                cmocka_unit_test(test_nul_bytes_are_refused),
                cmocka_unit_test(test_sizes_are_limited),
                cmocka_unit_test(test_reason_is_printable),
                cmocka_unit_test(test_values_are_parsed_as_by_git),
                cmocka_unit_test(test_to_do_lists_that_run_programs_are_refused),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
