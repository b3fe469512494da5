"""What all tests rest on."""

import signal

# A shell that starts the suite in the background has it ignore Ctrl-C, and with it all that tests
# start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
