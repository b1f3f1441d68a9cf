/** Groups of models. */

/** Whether the model is among the patterns: ids of models, or their beginnings with a final `*`. */
export function matchesModels(patterns: readonly string[], model: string): boolean {
  return patterns.some((pattern) =>
    pattern.endsWith('*') ? model.startsWith(pattern.slice(0, -1)) : model === pattern,
  );
}
