/* Does nothing, with nothing to load: what is timed is the box. */
int main(void)
{
        return 0;
}
