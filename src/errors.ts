/** Wrong usage: exit status 2. Anything else that cannot be done is a TstraceError: status 1. */
export class UsageError extends Error {}
