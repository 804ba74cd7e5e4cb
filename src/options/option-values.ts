/** The values of options. */

/** As commander hands them over, by the option's name. */
export type OptionValues = Readonly<Record<string, unknown>>;
