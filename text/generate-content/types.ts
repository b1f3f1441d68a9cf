/** The shapes of the native format that the gateway writes, and tables of the fields that it reads. */
import type { JsonObject } from '../../domain/json.ts';
import { refused, type FieldTable } from '../fields.ts';

/** The fields of contract 4.8.4. Clients may also write them in snake_case. */
export const REQUEST_FIELDS: FieldTable = {
  contents: 'mapped',
  systemInstruction: 'mapped',
  generationConfig: 'mapped',
  tools: 'mapped',
  toolConfig: 'ignored',
  safetySettings: 'ignored',
  cachedContent: 'ignored',
  labels: 'ignored',
  serviceTier: 'ignored',
  store: 'ignored',
  model: refused('the model is named in the path'),
};

export const GENERATION_FIELDS: FieldTable = {
  maxOutputTokens: 'mapped',
  temperature: 'mapped',
  topP: 'mapped',
  topK: 'mapped',
  stopSequences: 'mapped',
  candidateCount: 'mapped',
  presencePenalty: 'mapped',
  frequencyPenalty: 'mapped',
  thinkingConfig: 'ignored',
  responseMimeType: 'ignored',
  responseSchema: 'ignored',
  // The same, under the name that accepts all of JSON Schema.
  responseJsonSchema: 'ignored',
  _responseJsonSchema: 'ignored',
  responseFormat: 'ignored',
  seed: 'ignored',
  responseModalities: 'ignored',
  responseLogprobs: 'ignored',
  logprobs: 'ignored',
  mediaResolution: 'ignored',
  audioTimestamp: 'ignored',
  speechConfig: 'ignored',
  imageConfig: 'ignored',
  translationConfig: 'ignored',
  enableAffectiveDialog: 'ignored',
  enableEnhancedCivicAnswers: 'ignored',
  modelConfig: 'ignored',
  modelSelectionConfig: 'ignored',
  routingConfig: 'ignored',
};

/** A part must have exactly one of these fields; the others may accompany it. */
export const PART_KINDS = ['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse'] as const;

export const PART_FIELDS: FieldTable = {
  text: 'mapped',
  inlineData: 'mapped',
  fileData: 'mapped',
  functionCall: 'mapped',
  functionResponse: 'mapped',
  thought: 'mapped',
  thoughtSignature: 'mapped',
  videoMetadata: 'ignored',
  mediaResolution: 'ignored',
  partMetadata: 'ignored',
  executableCode: refused('built-in tools are not offered'),
  codeExecutionResult: refused('built-in tools are not offered'),
  toolCall: refused('built-in tools are not offered'),
  toolResponse: refused('built-in tools are not offered'),
};

/** A part of an answer. */
export type AnswerPartOnWire =
  | { readonly text: string }
  | {
      readonly functionCall: { readonly id: string; readonly name: string; readonly args: JsonObject };
      readonly thoughtSignature?: string | undefined;
    };

/** Thinking is not included in the candidates; cached input is included in the prompt. */
export interface UsageMetadata {
  readonly promptTokenCount: number;
  readonly cachedContentTokenCount?: number | undefined;
  readonly candidatesTokenCount: number;
  readonly thoughtsTokenCount?: number | undefined;
  readonly totalTokenCount: number;
}

export type FinishReasonOnWire = 'STOP' | 'MAX_TOKENS';
