/** The output and the exit code of `genway config`. */
export interface ConfigTerminal {
  readonly print: (text: string) => void;
  readonly isJson: () => boolean;
  /** Sets the exit code of the command. */
  readonly endWith: (exitCode: number) => void;
}

export const EXIT_CODES = { right: 0, wrong: 1, unreachable: 2 } as const;
