/** The shapes of the native format that the gateway writes. */
import type { JsonObject } from '../../domain/json.ts';

/** A part of an answer. */
export type AnswerPartOnWire =
  | { readonly text: string; readonly thought?: true }
  | { readonly inlineData: { readonly mimeType: string; readonly data: string } }
  | {
      readonly functionCall: { readonly id: string; readonly name: string; readonly args: JsonObject };
      readonly thoughtSignature?: string | undefined;
    };

interface ModalityCount {
  readonly modality: 'TEXT' | 'AUDIO';
  readonly tokenCount: number;
}

/** Thinking is not included in the candidates; cached input is included in the prompt. */
export interface UsageMetadata {
  readonly promptTokenCount: number;
  readonly cachedContentTokenCount?: number | undefined;
  readonly candidatesTokenCount: number;
  readonly thoughtsTokenCount?: number | undefined;
  readonly totalTokenCount: number;
  readonly promptTokensDetails?: readonly ModalityCount[] | undefined;
  readonly candidatesTokensDetails?: readonly ModalityCount[] | undefined;
}

export type FinishReasonOnWire = 'STOP' | 'MAX_TOKENS';
