/*
 * Character references; see html_entities.h.
 *
 * The table has the names of HTML 4, and of the two thousand of HTML 5 those that are common. The name of a Latin-1
 * character needs no semicolon, as in browsers.
 */
#include "tools/html_entities.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { NAME_SIZE = 16, REPLACEMENT = 0xfffd };

struct entity {
        char name[NAME_SIZE];
        uint32_t character;
};

/* Sorted by strcmp(). */
static const struct entity entities[] = {
        { "AElig", 0xc6 }, { "AMP", 0x26 }, { "Aacute", 0xc1 }, { "Abreve", 0x102 }, { "Acirc", 0xc2 },
        { "Agrave", 0xc0 }, { "Alpha", 0x391 }, { "Amacr", 0x100 }, { "Aogon", 0x104 }, { "Aring", 0xc5 },
        { "Atilde", 0xc3 }, { "Auml", 0xc4 }, { "Beta", 0x392 }, { "COPY", 0xa9 }, { "Cacute", 0x106 },
        { "Ccaron", 0x10c }, { "Ccedil", 0xc7 }, { "Chi", 0x3a7 }, { "Dagger", 0x2021 }, { "Dcaron", 0x10e },
        { "Delta", 0x394 }, { "Dstrok", 0x110 }, { "ETH", 0xd0 }, { "Eacute", 0xc9 }, { "Ecaron", 0x11a },
        { "Ecirc", 0xca }, { "Egrave", 0xc8 }, { "Emacr", 0x112 }, { "Eogon", 0x118 }, { "Epsilon", 0x395 },
        { "Eta", 0x397 }, { "Euml", 0xcb }, { "GT", 0x3e }, { "Gamma", 0x393 }, { "Gbreve", 0x11e }, { "Hat", 0x5e },
        { "Iacute", 0xcd }, { "Icirc", 0xce }, { "Idot", 0x130 }, { "Igrave", 0xcc }, { "Imacr", 0x12a },
        { "Iota", 0x399 }, { "Iuml", 0xcf }, { "Kappa", 0x39a }, { "LT", 0x3c }, { "Lambda", 0x39b },
        { "Lstrok", 0x141 }, { "Mu", 0x39c }, { "Nacute", 0x143 }, { "Ncaron", 0x147 }, { "NewLine", 0xa },
        { "Ntilde", 0xd1 }, { "Nu", 0x39d }, { "OElig", 0x152 }, { "Oacute", 0xd3 }, { "Ocirc", 0xd4 },
        { "Odblac", 0x150 }, { "Ograve", 0xd2 }, { "Omacr", 0x14c }, { "Omega", 0x3a9 }, { "Omicron", 0x39f },
        { "Oslash", 0xd8 }, { "Otilde", 0xd5 }, { "Ouml", 0xd6 }, { "Phi", 0x3a6 }, { "Pi", 0x3a0 },
        { "Prime", 0x2033 }, { "Psi", 0x3a8 }, { "QUOT", 0x22 }, { "REG", 0xae }, { "Rcaron", 0x158 },
        { "Rho", 0x3a1 }, { "Sacute", 0x15a }, { "Scaron", 0x160 }, { "Scedil", 0x15e }, { "Sigma", 0x3a3 },
        { "THORN", 0xde }, { "Tab", 0x9 }, { "Tau", 0x3a4 }, { "Tcaron", 0x164 }, { "Theta", 0x398 },
        { "Uacute", 0xda }, { "Ucirc", 0xdb }, { "Udblac", 0x170 }, { "Ugrave", 0xd9 }, { "Umacr", 0x16a },
        { "Upsilon", 0x3a5 }, { "Uring", 0x16e }, { "Uuml", 0xdc }, { "Xi", 0x39e }, { "Yacute", 0xdd },
        { "Yuml", 0x178 }, { "Zacute", 0x179 }, { "Zcaron", 0x17d }, { "Zdot", 0x17b }, { "ZeroWidthSpace", 0x200b },
        { "Zeta", 0x396 }, { "aacute", 0xe1 }, { "abreve", 0x103 }, { "ac", 0x223e }, { "acirc", 0xe2 },
        { "acute", 0xb4 }, { "aelig", 0xe6 }, { "agrave", 0xe0 }, { "alefsym", 0x2135 }, { "alpha", 0x3b1 },
        { "amacr", 0x101 }, { "amp", 0x26 }, { "and", 0x2227 }, { "ang", 0x2220 }, { "angle", 0x2220 },
        { "aogon", 0x105 }, { "apos", 0x27 }, { "approx", 0x2248 }, { "aring", 0xe5 }, { "ast", 0x2a },
        { "asymp", 0x2248 }, { "atilde", 0xe3 }, { "auml", 0xe4 }, { "bdquo", 0x201e }, { "beta", 0x3b2 },
        { "bigstar", 0x2605 }, { "blank", 0x2423 }, { "block", 0x2588 }, { "boxh", 0x2500 }, { "boxv", 0x2502 },
        { "breve", 0x2d8 }, { "brvbar", 0xa6 }, { "bsol", 0x5c }, { "bull", 0x2022 }, { "cacute", 0x107 },
        { "cap", 0x2229 }, { "caron", 0x2c7 }, { "ccaron", 0x10d }, { "ccedil", 0xe7 }, { "cedil", 0xb8 },
        { "cent", 0xa2 }, { "check", 0x2713 }, { "checkmark", 0x2713 }, { "chi", 0x3c7 }, { "cir", 0x25cb },
        { "circ", 0x2c6 }, { "clubs", 0x2663 }, { "colon", 0x3a }, { "comma", 0x2c }, { "commat", 0x40 },
        { "cong", 0x2245 }, { "copy", 0xa9 }, { "copysr", 0x2117 }, { "crarr", 0x21b5 }, { "cross", 0x2717 },
        { "cup", 0x222a }, { "curren", 0xa4 }, { "dArr", 0x21d3 }, { "dagger", 0x2020 }, { "darr", 0x2193 },
        { "dash", 0x2010 }, { "dcaron", 0x10f }, { "deg", 0xb0 }, { "delta", 0x3b4 }, { "diams", 0x2666 },
        { "divide", 0xf7 }, { "dollar", 0x24 }, { "dot", 0x2d9 }, { "dstrok", 0x111 }, { "dtri", 0x25bf },
        { "eacute", 0xe9 }, { "ecaron", 0x11b }, { "ecirc", 0xea }, { "egrave", 0xe8 }, { "ell", 0x2113 },
        { "emacr", 0x113 }, { "empty", 0x2205 }, { "emsp", 0x2003 }, { "ensp", 0x2002 }, { "eogon", 0x119 },
        { "epsilon", 0x3b5 }, { "equals", 0x3d }, { "equiv", 0x2261 }, { "eta", 0x3b7 }, { "eth", 0xf0 },
        { "euml", 0xeb }, { "euro", 0x20ac }, { "excl", 0x21 }, { "exist", 0x2203 }, { "female", 0x2640 },
        { "fnof", 0x192 }, { "forall", 0x2200 }, { "frac12", 0xbd }, { "frac13", 0x2153 }, { "frac14", 0xbc },
        { "frac15", 0x2155 }, { "frac18", 0x215b }, { "frac23", 0x2154 }, { "frac34", 0xbe }, { "frac38", 0x215c },
        { "frac58", 0x215d }, { "frac78", 0x215e }, { "frasl", 0x2044 }, { "gamma", 0x3b3 }, { "gbreve", 0x11f },
        { "ge", 0x2265 }, { "geq", 0x2265 }, { "grave", 0x60 }, { "gt", 0x3e }, { "hArr", 0x21d4 },
        { "hairsp", 0x200a }, { "harr", 0x2194 }, { "hbar", 0x210f }, { "hearts", 0x2665 }, { "hellip", 0x2026 },
        { "horbar", 0x2015 }, { "hyphen", 0x2010 }, { "iacute", 0xed }, { "icirc", 0xee }, { "iexcl", 0xa1 },
        { "igrave", 0xec }, { "imacr", 0x12b }, { "image", 0x2111 }, { "incare", 0x2105 }, { "infin", 0x221e },
        { "inodot", 0x131 }, { "int", 0x222b }, { "iota", 0x3b9 }, { "iquest", 0xbf }, { "isin", 0x2208 },
        { "iuml", 0xef }, { "kappa", 0x3ba }, { "lArr", 0x21d0 }, { "lambda", 0x3bb }, { "lang", 0x2329 },
        { "laquo", 0xab }, { "larr", 0x2190 }, { "lbrace", 0x7b }, { "lbrack", 0x5b }, { "lceil", 0x2308 },
        { "lcub", 0x7b }, { "ldquo", 0x201c }, { "ldquor", 0x201e }, { "le", 0x2264 }, { "leq", 0x2264 },
        { "lfloor", 0x230a }, { "lowast", 0x2217 }, { "lowbar", 0x5f }, { "loz", 0x25ca }, { "lozf", 0x29eb },
        { "lpar", 0x28 }, { "lrm", 0x200e }, { "lsaquo", 0x2039 }, { "lsqb", 0x5b }, { "lsquo", 0x2018 },
        { "lsquor", 0x201a }, { "lstrok", 0x142 }, { "lt", 0x3c }, { "macr", 0xaf }, { "male", 0x2642 },
        { "map", 0x21a6 }, { "mdash", 0x2014 }, { "mho", 0x2127 }, { "micro", 0xb5 }, { "middot", 0xb7 },
        { "minus", 0x2212 }, { "mldr", 0x2026 }, { "mu", 0x3bc }, { "nabla", 0x2207 }, { "nacute", 0x144 },
        { "nbsp", 0xa0 }, { "ncaron", 0x148 }, { "ndash", 0x2013 }, { "ne", 0x2260 }, { "nearr", 0x2197 },
        { "ni", 0x220b }, { "nlarr", 0x219a }, { "nldr", 0x2025 }, { "not", 0xac }, { "notin", 0x2209 },
        { "nsub", 0x2284 }, { "ntilde", 0xf1 }, { "nu", 0x3bd }, { "num", 0x23 }, { "numero", 0x2116 },
        { "numsp", 0x2007 }, { "nwarr", 0x2196 }, { "oacute", 0xf3 }, { "ocirc", 0xf4 }, { "odblac", 0x151 },
        { "oelig", 0x153 }, { "ograve", 0xf2 }, { "ohm", 0x3a9 }, { "oline", 0x203e }, { "omacr", 0x14d },
        { "omega", 0x3c9 }, { "omicron", 0x3bf }, { "oplus", 0x2295 }, { "or", 0x2228 }, { "ordf", 0xaa },
        { "ordm", 0xba }, { "oslash", 0xf8 }, { "otilde", 0xf5 }, { "otimes", 0x2297 }, { "ouml", 0xf6 },
        { "para", 0xb6 }, { "part", 0x2202 }, { "percnt", 0x25 }, { "period", 0x2e }, { "permil", 0x2030 },
        { "perp", 0x22a5 }, { "phi", 0x3c6 }, { "phone", 0x260e }, { "pi", 0x3c0 }, { "piv", 0x3d6 },
        { "plus", 0x2b }, { "plusmn", 0xb1 }, { "pound", 0xa3 }, { "prime", 0x2032 }, { "prod", 0x220f },
        { "prop", 0x221d }, { "psi", 0x3c8 }, { "puncsp", 0x2008 }, { "quest", 0x3f }, { "quot", 0x22 },
        { "rArr", 0x21d2 }, { "radic", 0x221a }, { "rang", 0x232a }, { "raquo", 0xbb }, { "rarr", 0x2192 },
        { "rarrw", 0x219d }, { "rbrace", 0x7d }, { "rbrack", 0x5d }, { "rcaron", 0x159 }, { "rceil", 0x2309 },
        { "rcub", 0x7d }, { "rdquo", 0x201d }, { "real", 0x211c }, { "reg", 0xae }, { "rfloor", 0x230b },
        { "rho", 0x3c1 }, { "ring", 0x2da }, { "rlm", 0x200f }, { "rpar", 0x29 }, { "rsaquo", 0x203a },
        { "rsqb", 0x5d }, { "rsquo", 0x2019 }, { "sacute", 0x15b }, { "sbquo", 0x201a }, { "scaron", 0x161 },
        { "scedil", 0x15f }, { "sdot", 0x22c5 }, { "searr", 0x2198 }, { "sect", 0xa7 }, { "semi", 0x3b },
        { "shy", 0xad }, { "sigma", 0x3c3 }, { "sigmaf", 0x3c2 }, { "sim", 0x223c }, { "sol", 0x2f },
        { "spades", 0x2660 }, { "squ", 0x25a1 }, { "square", 0x25a1 }, { "star", 0x2606 }, { "starf", 0x2605 },
        { "sub", 0x2282 }, { "sube", 0x2286 }, { "sum", 0x2211 }, { "sup", 0x2283 }, { "sup1", 0xb9 },
        { "sup2", 0xb2 }, { "sup3", 0xb3 }, { "supe", 0x2287 }, { "swarr", 0x2199 }, { "szlig", 0xdf },
        { "tau", 0x3c4 }, { "tcaron", 0x165 }, { "telrec", 0x2315 }, { "there4", 0x2234 }, { "theta", 0x3b8 },
        { "thetasym", 0x3d1 }, { "thinsp", 0x2009 }, { "thorn", 0xfe }, { "tilde", 0x2dc }, { "times", 0xd7 },
        { "trade", 0x2122 }, { "triangle", 0x25b5 }, { "uArr", 0x21d1 }, { "uacute", 0xfa }, { "uarr", 0x2191 },
        { "ucirc", 0xfb }, { "udblac", 0x171 }, { "ugrave", 0xf9 }, { "umacr", 0x16b }, { "uml", 0xa8 },
        { "upsih", 0x3d2 }, { "upsilon", 0x3c5 }, { "uring", 0x16f }, { "utri", 0x25b5 }, { "uuml", 0xfc },
        { "varepsilon", 0x3f5 }, { "varr", 0x2195 }, { "verbar", 0x7c }, { "vert", 0x7c }, { "weierp", 0x2118 },
        { "xi", 0x3be }, { "yacute", 0xfd }, { "yen", 0xa5 }, { "yuml", 0xff }, { "zacute", 0x17a },
        { "zcaron", 0x17e }, { "zdot", 0x17c }, { "zeta", 0x3b6 }, { "zwj", 0x200d }, { "zwnj", 0x200c },
};

uint32_t html_windows_1252(unsigned char byte)
{
        static const uint16_t upper[] = {
                0x20ac, 0x81, 0x201a, 0x192, 0x201e, 0x2026, 0x2020, 0x2021, 0x2c6, 0x2030, 0x160,
                0x2039, 0x152, 0x8d, 0x17d, 0x8f, 0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
                0x2013, 0x2014, 0x2dc, 0x2122, 0x161, 0x203a, 0x153, 0x9d, 0x17e, 0x178,
        };
        return byte >= 0x80 && byte <= 0x9f ? upper[byte - 0x80] : byte;
}

size_t html_write_utf8(uint32_t character, char ret[4])
{
        static const unsigned char leads[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
        if (character > 0x10ffff || (character >= 0xd800 && character <= 0xdfff))
                character = REPLACEMENT;
        size_t length = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
        for (size_t i = length - 1; i > 0; i--, character >>= 6)
                ret[i] = (char)(0x80 | (character & 0x3f));
        ret[0] = (char)(length == 1 ? character : leads[length] | character);
        return length;
}

static bool is_digit(char c, bool hexadecimal)
{
        return (c >= '0' && c <= '9') || (hexadecimal && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')));
}

static bool is_alphanumeric(char c)
{
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* "&#" and a number. */
static size_t read_number(const char *bytes, size_t length, uint32_t *ret)
{
        bool hexadecimal = length > 2 && (bytes[2] == 'x' || bytes[2] == 'X');
        size_t start = hexadecimal ? 3 : 2, at = start;
        uint32_t value = 0;
        for (; at < length && is_digit(bytes[at], hexadecimal); at++) {
                uint32_t digit = (uint32_t)(bytes[at] <= '9' ? bytes[at] - '0' : (bytes[at] | 0x20) - 'a' + 10);
                value = value > 0x10ffff ? value : value * (hexadecimal ? 16 : 10) + digit;
        }
        if (at == start)
                return 0;
        if (value == 0 || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
                value = REPLACEMENT;
        *ret = value < 0x100 ? html_windows_1252((unsigned char)value) : value;
        return at + (at < length && bytes[at] == ';');
}

static int compare(const void *name, const void *entity)
{
        return strcmp(name, ((const struct entity *)entity)->name);
}

static const struct entity *find_entity(const char *name, size_t length)
{
        char copy[NAME_SIZE] = "";
        if (length == 0 || length >= NAME_SIZE)
                return NULL;
        memcpy(copy, name, length);
        return bsearch(copy, entities, ARRAY_SIZE(entities), sizeof *entities, compare);
}

/* Early HTML had names for Latin-1 characters and for & < > and ". */
static bool may_lack_semicolon(const struct entity *e)
{
        uint32_t c = e->character;
        return (c >= 0xa0 && c <= 0xff) || c == '&' || c == '<' || c == '>' || c == '"';
}

size_t html_read_entity(const char *bytes, size_t length, bool in_attribute, uint32_t *ret)
{
        if (length > 1 && bytes[1] == '#')
                return read_number(bytes, length, ret);
        size_t n = 0;
        while (n < NAME_SIZE && n + 1 < length && is_alphanumeric(bytes[n + 1]))
                n++;
        const struct entity *e = find_entity(bytes + 1, n);
        if (e && n + 1 < length && bytes[n + 1] == ';') {
                *ret = e->character;
                return n + 2;
        }
        if (in_attribute && (!e || (n + 1 < length && bytes[n + 1] == '=')))
                return 0;
        for (; n && !(e && may_lack_semicolon(e)); n--) /* find the longest prefix that is a name: "&copy2" */
                e = find_entity(bytes + 1, n - 1);
        if (!n)
                return 0;
        *ret = e->character;
        return strlen(e->name) + 1;
}
