/** Where the commands of `genway config` print, and with which code they end. */
export interface ConfigTerminal {
  readonly print: (text: string) => void;
  readonly isJson: () => boolean;
  /** Sets the code with which the command will end. */
  readonly endWith: (exitCode: number) => void;
}

export const EXIT_CODES = { right: 0, wrong: 1, unreachable: 2 } as const;
