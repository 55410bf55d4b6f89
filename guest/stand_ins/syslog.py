"""The system's log, of which the sandbox has none: messages are taken and dropped."""

LOG_EMERG, LOG_ALERT, LOG_CRIT, LOG_ERR, LOG_WARNING, LOG_NOTICE, LOG_INFO, LOG_DEBUG = range(8)
(
    LOG_KERN,
    LOG_USER,
    LOG_MAIL,
    LOG_DAEMON,
    LOG_AUTH,
    LOG_SYSLOG,
    LOG_LPR,
    LOG_NEWS,
    LOG_UUCP,
    LOG_CRON,
    LOG_AUTHPRIV,
) = range(0, 88, 8)
LOG_LOCAL0, LOG_LOCAL1, LOG_LOCAL2, LOG_LOCAL3, LOG_LOCAL4, LOG_LOCAL5, LOG_LOCAL6, LOG_LOCAL7 = range(128, 192, 8)
LOG_PID, LOG_CONS, LOG_ODELAY, LOG_NDELAY, LOG_NOWAIT, LOG_PERROR = 1, 2, 4, 8, 16, 32

_mask = 0xFF


def syslog(*arguments):
    """syslog([priority,] message): send the string message to the system logger."""
    if not 1 <= len(arguments) <= 2:
        raise TypeError("syslog.syslog requires 1 to 2 arguments")
    if not isinstance(arguments[-1], str):
        raise TypeError(f"syslog() argument must be str, not {type(arguments[-1]).__name__}")


def openlog(ident=None, logoption=0, facility=LOG_USER):
    """Set logging options of subsequent syslog() calls."""


def closelog():
    """Reset the syslog module values."""


def setlogmask(maskpri, /):
    """Set the priority mask to maskpri and return the previous mask value."""
    global _mask
    previous = _mask
    _mask = maskpri or _mask
    return previous


def LOG_MASK(pri, /):
    """Calculates the mask for the individual priority pri."""
    return 1 << pri


def LOG_UPTO(pri, /):
    """Calculates the mask for all priorities up to and including pri."""
    return (1 << (pri + 1)) - 1
