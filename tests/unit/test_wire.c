/* Frames over a stream, and packets with descriptors. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "wire/channel.h"
#include "wire/packet.h"

static void make_pair(struct channel *a, struct channel *b)
{
        int ends[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        assert_int_equal(channel_open(a, ends[0]) | channel_open(b, ends[1]), 0);
}

static void test_frames_arrive_whole_and_in_order(void **state)
{
        (void)state;
        static const size_t sizes[] = { 0, 1, 5, 65536, 3000000, 2 };
        struct channel a, b;
        make_pair(&a, &b);
        char *data = malloc(3000000);
        memset(data, 'x', 3000000);
        for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
                assert_int_equal(channel_queue_frame(&a, data, sizes[i]), 0);
                assert_int_equal(channel_queue_frame(&b, data, sizes[i]),
                                 0); /* both directions at once, and no call blocks */
        }
        struct channel *ends[] = { &a, &b };
        size_t next[2] = { 0 };
        for (int round = 0; round < 10000 && (next[0] < ARRAY_SIZE(sizes) || next[1] < ARRAY_SIZE(sizes)); round++) {
                for (int i = 0; i < 2; i++) {
                        const char *frame;
                        size_t length;
                        assert_int_equal(channel_pump(ends[i]), 0);
                        while (channel_next_frame(ends[i], &frame, &length) == 1) {
                                assert_int_equal(length, sizes[next[i]]);
                                assert_memory_equal(frame, data, length);
                                next[i]++;
                        }
                }
        }
        assert_int_equal(next[0], ARRAY_SIZE(sizes));
        assert_int_equal(next[1], ARRAY_SIZE(sizes));
        assert_int_equal(channel_poll_events(&a), POLLIN);
        channel_close(&a);
        channel_close(&b);
        free(data);
}

static void test_frame_that_arrives_in_single_bytes(void **state)
{
        (void)state;
        int ends[2];
        struct channel c;
        const char *frame = NULL;
        size_t length = 0;
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        assert_int_equal(channel_open(&c, ends[0]), 0);
        static const char bytes[] = "\3\0\0\0abc";
        for (size_t i = 0; i < sizeof bytes - 1; i++) {
                assert_int_equal(channel_next_frame(&c, &frame, &length), 0);
                assert_int_equal(write(ends[1], &bytes[i], 1), 1);
                assert_int_equal(channel_pump(&c), 0);
        }
        assert_int_equal(channel_next_frame(&c, &frame, &length), 1);
        assert_int_equal(length, 3);
        assert_memory_equal(frame, "abc", 3);
        (void)close(ends[1]);
        assert_int_equal(channel_pump(&c), 0);
        assert_true(c.peer_closed);
        channel_close(&c);
}

static void test_oversized_frames_are_refused(void **state)
{
        (void)state;
        struct channel a, b;
        const char *frame;
        size_t length;
        make_pair(&a, &b);
        assert_int_equal(write(a.fd, "\xff\xff\xff\xff", 4), 4);
        assert_int_equal(channel_pump(&b), 0);
        assert_int_equal(channel_next_frame(&b, &frame, &length), -EPROTO);
        assert_int_equal(channel_queue_frame(&a, "", (size_t)CHANNEL_MAX + 1), -EMSGSIZE);
        channel_close(&b);
        assert_int_equal(channel_queue_frame(&a, "x", 1), 0);
        assert_int_equal(channel_pump(&a), 0);
        assert_true(a.peer_closed);
        channel_close(&a);
}

static void test_descriptor_is_sent_with_a_packet(void **state)
{
        (void)state;
        int ends[2], pipe_ends[2], received = -1;
        char buffer[8], letter = 0;
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) | pipe(pipe_ends), 0);
        assert_int_equal(packet_send(ends[0], "hello", 5, pipe_ends[1]), 0);
        assert_int_equal(packet_receive(ends[1], buffer, sizeof buffer, 0, &received), 5);
        assert_true(received >= 0);
        assert_int_equal(write(received, "x", 1), 1);
        assert_int_equal(read(pipe_ends[0], &letter, 1), 1);
        (void)close(received);
        assert_int_equal(packet_send(ends[0], "", 1, -1), 0);
        assert_int_equal(packet_receive(ends[1], buffer, sizeof buffer, 0, &received), 1);
        assert_int_equal(received, -1);
        (void)close(ends[0]);
        assert_int_equal(packet_receive(ends[1], buffer, sizeof buffer, 0, &received), 0);
        (void)close(ends[1]);
        (void)close(pipe_ends[0]);
        (void)close(pipe_ends[1]);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_frames_arrive_whole_and_in_order),
                cmocka_unit_test(test_frame_that_arrives_in_single_bytes),
                cmocka_unit_test(test_oversized_frames_are_refused),
                cmocka_unit_test(test_descriptor_is_sent_with_a_packet),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
