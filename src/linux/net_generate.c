/*
 * Writes the netlink messages of net_setup.h as C source, when ringwall is built. Only this program needs libmnl and
 * libnftnl; the program that starts boxes just sends the bytes.
 *
 * The rules, in nft's syntax:
 *
 *   table inet ringwall {
 *     chain nat    { type nat hook output priority -100;
 *                    fib daddr type local return
 *                    meta l4proto { tcp, udp } th dport 53 redirect to :53     (one rule for each of the two)
 *                    meta l4proto tcp redirect to :1 }
 *     chain filter { type filter hook output priority 0;
 *                    fib daddr type local accept
 *                    reject with icmpx port-unreachable }
 *   }
 *
 * A redirected packet has a local address when the filter chain sees it. A rejected send fails at once, in the program
 * that made it.
 */
#include <arpa/inet.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <libmnl/libmnl.h>
#include <libnftnl/chain.h>
#include <libnftnl/common.h>
#include <libnftnl/expr.h>
#include <libnftnl/rule.h>
#include <libnftnl/table.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

#include "wire/egress_protocol.h"
#include "policy/plan.h"

enum { LOOPBACK = 1, BUFFER_BYTES = 16 << 10, NAT_PRIORITY = -100 };

static const char table[] = "ringwall", nat[] = "nat", filter[] = "filter";

/* Concatenated messages. */
struct message_buffer {
        _Alignas(8) char bytes[BUFFER_BYTES];
        size_t length;
        unsigned acknowledgements;
};

static void *abort_if_null(void *p)
{
        if (!p)
                abort(); /* out of memory during the build */
        return p;
}

static void end_message(struct message_buffer *buffer, const struct nlmsghdr *h)
{
        buffer->length += (h->nlmsg_len + 3U) & ~3U;
        buffer->acknowledgements += (h->nlmsg_flags & NLM_F_ACK) != 0;
        if (buffer->length > BUFFER_BYTES / 2)
                abort();
}

static void print_messages(const char *name, const struct message_buffer *buffer)
{
        (void)printf("static const unsigned char %s_bytes[] = {", name);
        for (size_t i = 0; i < buffer->length; i++)
                (void)printf("%s0x%02x,", i % 16 ? " " : "\n        ", (unsigned char)buffer->bytes[i]);
        (void)printf("\n};\nconst struct net_messages %s = { %s_bytes, sizeof %s_bytes, %u };\n\n", name, name, name,
                     buffer->acknowledgements);
}

/* --- addresses and routes --- */

static struct nlmsghdr *begin_route_message(struct message_buffer *buffer, uint16_t type)
{
        struct nlmsghdr *h = mnl_nlmsg_put_header(buffer->bytes + buffer->length);
        h->nlmsg_type = type;
        h->nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_ACK;
        return h;
}

/* Gives the loopback device an address and sends every packet to it, where the nat chain redirects it. */
static void add_address_and_default_route(struct message_buffer *buffer, unsigned char family, const void *address,
                                          size_t length)
{
        const unsigned char bits = (unsigned char)(8 * length);
        struct nlmsghdr *h = begin_route_message(buffer, RTM_NEWADDR);
        struct ifaddrmsg *a = mnl_nlmsg_put_extra_header(h, sizeof *a);
        *a = (struct ifaddrmsg){
                .ifa_family = family, .ifa_prefixlen = bits, .ifa_flags = IFA_F_NODAD, .ifa_index = LOOPBACK
        };
        mnl_attr_put(h, IFA_LOCAL, length, address);
        mnl_attr_put(h, IFA_ADDRESS, length, address);
        end_message(buffer, h);

        h = begin_route_message(buffer, RTM_NEWROUTE);
        struct rtmsg *route = mnl_nlmsg_put_extra_header(h, sizeof *route);
        *route = (struct rtmsg){ .rtm_family = family, .rtm_table = RT_TABLE_MAIN, .rtm_protocol = RTPROT_STATIC,
                                 .rtm_scope = RT_SCOPE_LINK, .rtm_type = RTN_UNICAST };
        mnl_attr_put_u32(h, RTA_OIF, LOOPBACK);
        mnl_attr_put(h, RTA_PREFSRC, length, address);
        end_message(buffer, h);
}

/* --- rules --- */

static struct nlmsghdr *begin_rules_message(struct message_buffer *buffer, uint16_t type, uint16_t flags)
{
        return nftnl_nlmsg_build_hdr(buffer->bytes + buffer->length, type, NFPROTO_INET,
                                     (uint16_t)(NLM_F_CREATE | NLM_F_ACK | flags), 0);
}

static void add_chain(struct message_buffer *buffer, const char *name, const char *type, int priority)
{
        struct nftnl_chain *c = abort_if_null(nftnl_chain_alloc());
        (void)nftnl_chain_set_str(c, NFTNL_CHAIN_TABLE, table);
        (void)nftnl_chain_set_str(c, NFTNL_CHAIN_NAME, name);
        (void)nftnl_chain_set_str(c, NFTNL_CHAIN_TYPE, type);
        nftnl_chain_set_u32(c, NFTNL_CHAIN_HOOKNUM, NF_INET_LOCAL_OUT);
        nftnl_chain_set_s32(c, NFTNL_CHAIN_PRIO, priority);
        struct nlmsghdr *h = begin_rules_message(buffer, NFT_MSG_NEWCHAIN, 0);
        nftnl_chain_nlmsg_build_payload(h, c);
        end_message(buffer, h);
        nftnl_chain_free(c);
}

static struct nftnl_rule *begin_rule(const char *chain)
{
        struct nftnl_rule *rule = abort_if_null(nftnl_rule_alloc());
        (void)nftnl_rule_set_str(rule, NFTNL_RULE_TABLE, table);
        (void)nftnl_rule_set_str(rule, NFTNL_RULE_CHAIN, chain);
        return rule;
}

static void end_rule(struct message_buffer *buffer, struct nftnl_rule *rule)
{
        struct nlmsghdr *h = begin_rules_message(buffer, NFT_MSG_NEWRULE, NLM_F_APPEND);
        nftnl_rule_nlmsg_build_payload(h, rule);
        end_message(buffer, h);
        nftnl_rule_free(rule);
}

static struct nftnl_expr *add_expression(struct nftnl_rule *rule, const char *name)
{
        struct nftnl_expr *x = abort_if_null(nftnl_expr_alloc(name));
        nftnl_rule_add_expr(rule, x);
        return x;
}

static void add_comparison(struct nftnl_rule *rule, const void *data, uint32_t length)
{
        struct nftnl_expr *x = add_expression(rule, "cmp");
        nftnl_expr_set_u32(x, NFTNL_EXPR_CMP_SREG, NFT_REG_1);
        nftnl_expr_set_u32(x, NFTNL_EXPR_CMP_OP, NFT_CMP_EQ);
        (void)nftnl_expr_set(x, NFTNL_EXPR_CMP_DATA, data, length);
}

static void add_local_destination_match(struct nftnl_rule *rule)
{
        const uint32_t local = RTN_LOCAL;
        struct nftnl_expr *x = add_expression(rule, "fib");
        nftnl_expr_set_u32(x, NFTNL_EXPR_FIB_FLAGS, NFTA_FIB_F_DADDR);
        nftnl_expr_set_u32(x, NFTNL_EXPR_FIB_RESULT, NFT_FIB_RESULT_ADDRTYPE);
        nftnl_expr_set_u32(x, NFTNL_EXPR_FIB_DREG, NFT_REG_1);
        add_comparison(rule, &local, sizeof local);
}

static void add_protocol_match(struct nftnl_rule *rule, uint8_t protocol)
{
        struct nftnl_expr *x = add_expression(rule, "meta");
        nftnl_expr_set_u32(x, NFTNL_EXPR_META_KEY, NFT_META_L4PROTO);
        nftnl_expr_set_u32(x, NFTNL_EXPR_META_DREG, NFT_REG_1);
        add_comparison(rule, &protocol, sizeof protocol);
}

/* The destination port, which has the same offset in TCP and UDP. */
static void add_port_match(struct nftnl_rule *rule, uint16_t port)
{
        const uint16_t on_the_wire = htons(port);
        struct nftnl_expr *x = add_expression(rule, "payload");
        nftnl_expr_set_u32(x, NFTNL_EXPR_PAYLOAD_BASE, NFT_PAYLOAD_TRANSPORT_HEADER);
        nftnl_expr_set_u32(x, NFTNL_EXPR_PAYLOAD_OFFSET, 2);
        nftnl_expr_set_u32(x, NFTNL_EXPR_PAYLOAD_LEN, sizeof port);
        nftnl_expr_set_u32(x, NFTNL_EXPR_PAYLOAD_DREG, NFT_REG_1);
        add_comparison(rule, &on_the_wire, sizeof on_the_wire);
}

static void add_redirect(struct nftnl_rule *rule, uint16_t port)
{
        const uint16_t on_the_wire = htons(port);
        struct nftnl_expr *x = add_expression(rule, "immediate");
        nftnl_expr_set_u32(x, NFTNL_EXPR_IMM_DREG, NFT_REG_1);
        (void)nftnl_expr_set(x, NFTNL_EXPR_IMM_DATA, &on_the_wire, sizeof on_the_wire);
        x = add_expression(rule, "redir");
        nftnl_expr_set_u32(x, NFTNL_EXPR_REDIR_REG_PROTO_MIN, NFT_REG_1);
}

static void add_verdict(struct nftnl_rule *rule, int code)
{
        struct nftnl_expr *x = add_expression(rule, "immediate");
        nftnl_expr_set_u32(x, NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT);
        nftnl_expr_set_u32(x, NFTNL_EXPR_IMM_VERDICT, (uint32_t)code);
}

static void add_reject(struct nftnl_rule *rule)
{
        struct nftnl_expr *x = add_expression(rule, "reject");
        nftnl_expr_set_u32(x, NFTNL_EXPR_REJECT_TYPE, NFT_REJECT_ICMPX_UNREACH);
        nftnl_expr_set_u8(x, NFTNL_EXPR_REJECT_CODE, NFT_REJECT_ICMPX_PORT_UNREACH);
}

static void add_rules(struct message_buffer *buffer)
{
        static const uint8_t protocols[] = { IPPROTO_TCP, IPPROTO_UDP };
        struct nftnl_rule *rule = begin_rule(nat);
        add_local_destination_match(rule);
        add_verdict(rule, NFT_RETURN);
        end_rule(buffer, rule);
        for (size_t i = 0; i < sizeof protocols; i++) {
                rule = begin_rule(nat);
                add_protocol_match(rule, protocols[i]);
                add_port_match(rule, RESERVED_PORT_DNS);
                add_redirect(rule, RESERVED_PORT_DNS);
                end_rule(buffer, rule);
        }
        rule = begin_rule(nat);
        add_protocol_match(rule, IPPROTO_TCP);
        add_redirect(rule, BOX_PORT_TRANSPARENT);
        end_rule(buffer, rule);

        rule = begin_rule(filter);
        add_local_destination_match(rule);
        add_verdict(rule, NF_ACCEPT);
        end_rule(buffer, rule);
        rule = begin_rule(filter);
        add_reject(rule);
        end_rule(buffer, rule);
}

/* Table, chains and rules in one transaction: all of it or nothing. */
static void add_ruleset(struct message_buffer *buffer)
{
        struct nftnl_table *t = abort_if_null(nftnl_table_alloc());
        (void)nftnl_table_set_str(t, NFTNL_TABLE_NAME, table);
        end_message(buffer, nftnl_batch_begin(buffer->bytes + buffer->length, 0));
        struct nlmsghdr *h = begin_rules_message(buffer, NFT_MSG_NEWTABLE, 0);
        nftnl_table_nlmsg_build_payload(h, t);
        end_message(buffer, h);
        nftnl_table_free(t);
        add_chain(buffer, nat, "nat", NAT_PRIORITY);
        add_chain(buffer, filter, "filter", 0);
        add_rules(buffer);
        end_message(buffer, nftnl_batch_end(buffer->bytes + buffer->length, 0));
}

int main(void)
{
        static struct message_buffer v4, v6, rules;
        const uint32_t own_v4 = htonl(FAKE_IP_V4_BASE);
        uint8_t own_v6[16] = FAKE_IP_V6_PREFIX;
        own_v6[15] = 1;
        add_address_and_default_route(&v4, AF_INET, &own_v4, sizeof own_v4);
        add_address_and_default_route(&v6, AF_INET6, own_v6, sizeof own_v6);
        add_ruleset(&rules);
        (void)printf("/* Generated by net_generate.c. */\n#include \"linux/net_setup.h\"\n\n");
        print_messages("net_routes_v4", &v4);
        print_messages("net_routes_v6", &v6);
        print_messages("net_rules", &rules);
        return ferror(stdout) || fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}
