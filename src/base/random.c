/* Random names; see random.h. */
#include "base/random.h"

#include <errno.h>
#include <sys/random.h>

int random_hex(char *ret, size_t size)
{
        static const char digits[] = "0123456789abcdef";
        if (!size || size > 256 + 1) /* getrandom() returns up to 256 bytes in full */
                return -EINVAL;
        if (getrandom(ret, size - 1, 0) != (ssize_t)(size - 1))
                return -errno;
        for (size_t i = 0; i < size - 1; i++)
                ret[i] = digits[ret[i] & 15];
        ret[size - 1] = '\0';
        return 0;
}
