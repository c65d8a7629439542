/* File types; see file_types.h. The names are those of other search programs. */
#include "tools/file_types.h"

#include <string.h>

#include "base/memory.h"

struct type {
        const char *name, *patterns;
};

static const struct type types[] = {
        { "ada", "*.{adb,ads}" },
        { "asm", "*.{asm,s,S}" },
        { "awk", "*.awk" },
        { "bazel", "{*.bazel,*.bzl,BUILD,WORKSPACE}" },
        { "c", "*.{c,h,H,cats}" },
        { "clojure", "*.{clj,cljc,cljs,cljx}" },
        { "cmake", "{*.cmake,CMakeLists.txt}" },
        { "config", "*.{cfg,conf,config,ini}" },
        { "cpp", "*.{C,H,cc,cpp,cxx,c++,h,hh,hpp,hxx,h++,inl}" },
        { "cs", "*.cs" },
        { "css", "*.{css,scss}" },
        { "csv", "*.csv" },
        { "cuda", "*.{cu,cuh}" },
        { "d", "*.d" },
        { "dart", "*.dart" },
        { "diff", "*.{patch,diff}" },
        { "docker", "*Dockerfile*" },
        { "elixir", "*.{ex,eex,exs}" },
        { "elm", "*.elm" },
        { "erlang", "*.{erl,hrl}" },
        { "fish", "*.fish" },
        { "fortran", "*.{f,F,f77,F77,f90,F90,f95,F95,pfo}" },
        { "fsharp", "*.{fs,fsx,fsi}" },
        { "go", "*.go" },
        { "gradle", "*.gradle" },
        { "graphql", "*.{graphql,graphqls}" },
        { "groovy", "*.{groovy,gradle}" },
        { "h", "*.{h,hh,hpp}" },
        { "haskell", "*.{hs,lhs}" },
        { "html", "*.{htm,html,ejs}" },
        { "java", "*.{java,jsp,jspx,properties}" },
        { "js", "*.{js,jsx,vue,cjs,mjs}" },
        { "json", "{*.json,composer.lock}" },
        { "jsonl", "*.jsonl" },
        { "julia", "*.jl" },
        { "jupyter", "*.{ipynb,jpynb}" },
        { "kotlin", "*.{kt,kts}" },
        { "less", "*.less" },
        { "license", "{COPYING,COPYING.*,LICENSE,LICENSE.*,LICENCE,LICENCE.*,COPYRIGHT,NOTICE}" },
        { "lisp", "*.{el,jl,lisp,lsp,sc,scm}" },
        { "lock", "{*.lock,package-lock.json}" },
        { "log", "*.log" },
        { "lua", "*.lua" },
        { "make", "{*.mk,*.mak,GNUmakefile,Gnumakefile,makefile,Makefile}" },
        { "man", "*.[0-9lnpx]" },
        { "markdown", "*.{markdown,md,mdown,mkd,mkdn,mdx}" },
        { "md", "*.{markdown,md,mdown,mkd,mkdn,mdx}" },
        { "meson", "{meson.build,meson_options.txt}" },
        { "nim", "*.{nim,nimf,nimble,nims}" },
        { "nix", "*.nix" },
        { "objc", "*.{h,m}" },
        { "ocaml", "*.{ml,mli,mll,mly}" },
        { "org", "*.org" },
        { "pascal", "*.{pas,dpr,lpr,pp,inc}" },
        { "perl", "*.{perl,pl,PL,plh,plx,pm,t}" },
        { "php", "*.{php,php3,php4,php5,phtml}" },
        { "protobuf", "*.proto" },
        { "ps", "*.{cdxml,ps1,ps1xml,psd1,psm1}" },
        { "py", "*.{py,pyi}" },
        { "python", "*.{py,pyi}" },
        { "r", "*.{R,r,Rmd,Rnw}" },
        { "rst", "*.rst" },
        { "ruby", "{*.rb,*.gemspec,Gemfile,Rakefile,config.ru}" },
        { "rust", "*.rs" },
        { "sass", "*.{sass,scss}" },
        { "scala", "*.{scala,sbt}" },
        { "sh", "{*.sh,*.bash,*.zsh,*.ksh,*.csh,.bashrc,.bash_profile,.profile,.zshrc}" },
        { "sql", "*.{sql,psql}" },
        { "svelte", "*.svelte" },
        { "svg", "*.svg" },
        { "swift", "*.swift" },
        { "systemd", "*.{service,socket,timer,target,mount,path,slice,scope}" },
        { "tcl", "*.tcl" },
        { "tex", "*.{tex,ltx,cls,sty,bib,dtx,ins}" },
        { "tf", "*.{tf,tfvars,tf.json}" },
        { "toml", "{*.toml,Cargo.lock}" },
        { "ts", "*.{ts,tsx,cts,mts}" },
        { "txt", "*.txt" },
        { "vim", "*.vim" },
        { "vue", "*.vue" },
        { "xml", "*.{xml,dtd,xsl,xslt,xsd,xjb,rng,sch,xhtml}" },
        { "yaml", "*.{yaml,yml}" },
        { "zig", "*.zig" },
};

const char *file_type_patterns(const char *name, struct text *why)
{
        const char *names[ARRAY_SIZE(types)];
        for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
                names[i] = types[i].name;
                if (strcmp(name, names[i]) == 0)
                        return types[i].patterns;
        }
        const char *nearest = text_suggest(name, names, ARRAY_SIZE(names));
        text_format(why, "there is no type '%.40s'", name);
        if (nearest)
                text_format(why, "; did you mean %s?", nearest);
        bool first = true;
        for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
                if (*names[i] != *name)
                        continue;
                text_format(why, first ? " Known with this letter: %s" : ", %s", names[i]);
                first = false;
        }
        return NULL;
}
