/** The fields of a native request: those of contract 4.8.4, in either spelling, and others, without effect. */
import { badRequest } from '../../domain/errors.ts';
import { isObject, type JsonObject, listOf } from '../../domain/json.ts';
import { ref } from '../../domain/json-schema.ts';
import type {
  AudioOutput,
  InputPart,
  OutputFormat,
  Sampling,
  TextPart,
  TextRequest,
  Tool,
  ToolChoice,
  UnusedFields,
  WebSearch,
} from '../canonical.ts';
import { byCompatibility, fields, forwardedAs, type ReaderSelector, ignored, ignoredAs, refused } from '../fields.ts';
import {
  arrayOf,
  compact,
  constrained,
  described,
  integerBetween,
  isSet,
  mapped,
  named,
  numberBetween,
  oneOf,
  optional,
  readBoolean,
  reader,
  type Reader,
  readId,
  readName,
  readObject,
  readStopSequences,
  readString,
} from '../read.ts';
import { JSON_SCHEMA, MAX_OUTPUT_TOKENS, outputTokens, PENALTY, TEMPERATURE } from '../settings.ts';
import { unusedFields } from '../unused-fields.ts';
import { readFileData, readInlineData } from './media.ts';
import { camelCased, closedNativeFields, nativeFields } from './names.ts';
import { jsonSchemaOf } from './schema.ts';

const MAX_STOP_SEQUENCES_USED = 4;
const MAX_CANDIDATES = 8;

// ------------------------------------------------------------------------------------------------------------- parts

/** A part must have exactly one of these fields; the others may accompany it. */
const CONTENT_KINDS = ['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse'] as const;
const PART_KINDS = [...CONTENT_KINDS, 'executableCode', 'codeExecutionResult', 'toolCall', 'toolResponse'] as const;

/** The images and files that come with a function's response. */
const attachment: Reader<InputPart[]> = reader(ref('Part'), (value, path) => {
  const part = readPart(value, path);
  refuseRecord(part);
  return inputOf(part);
});

const RECORD = 'From an earlier answer of the vendor. Other models get code and its output as text, and nothing else';

/** The text of a record, as code. */
function readRecord(field: 'code' | 'output'): Reader<TextPart> {
  return mapped(nativeFields({ [field]: optional(readString) }), (record) => {
    const text = record.get(field) ?? '';
    return { type: 'text', text: text === '' ? '' : `\`\`\`\n${text}\n\`\`\`\n` };
  });
}

const partFields = closedNativeFields(
  {
    text: optional(readString),
    inlineData: optional(readInlineData),
    fileData: optional(readFileData),
    functionCall: optional(nativeFields({ id: optional(readId), name: readName, args: optional(readObject) })),
    functionResponse: optional(
      nativeFields({
        id: optional(readId),
        name: readName,
        response: optional(readObject),
        parts: optional(arrayOf(attachment)),
      }),
    ),
    thought: optional(described(readBoolean, 'Whether the text is the model’s reasoning')),
    thoughtSignature: optional(readString),
    videoMetadata: ignored,
    mediaResolution: ignored,
    partMetadata: ignored,
    // Records of tools that the vendor ran for an earlier answer.
    executableCode: optional(described(readRecord('code'), RECORD)),
    codeExecutionResult: optional(described(readRecord('output'), RECORD)),
    toolCall: optional(described(readObject, RECORD)),
    toolResponse: optional(described(readObject, RECORD)),
  },
  'Has exactly one of `text`, `inlineData`, `fileData`, `functionCall`, `functionResponse` and the records of tools that the vendor ran',
);

export interface Part {
  readonly kind: (typeof PART_KINDS)[number];
  readonly fields: ReturnType<typeof partFields>;
}

const readPart = named(
  'Part',
  mapped(partFields, (part): Part => {
    const kinds = PART_KINDS.filter((kind) => isSet(part.object[kind]));
    const [kind] = kinds;
    if (kind === undefined && isSet(part.object['thoughtSignature'])) return { kind: 'text', fields: part };
    if (kind === undefined || kinds.length > 1) {
      throw badRequest(`"${part.path}" must have exactly one of: [${CONTENT_KINDS.join(' ')}]`);
    }
    return { kind, fields: part };
  }),
);

/** An empty text yields no part. */
export function textOf({ fields: part }: Part): TextPart[] {
  const text = part.get('text') ?? '';
  return text === '' ? [] : [{ type: 'text', text }];
}

/** The texts of a record of a tool that the vendor ran; null for other parts. */
export function recordOf({ kind, fields: part }: Part): TextPart[] | null {
  if (kind === 'toolCall' || kind === 'toolResponse') return [];
  if (kind !== 'executableCode' && kind !== 'codeExecutionResult') return null;
  const record = part.get(kind);
  return record === undefined || record.text === '' ? [] : [record];
}

/** @throws ServiceError `bad_request` for a record of a tool that the vendor ran */
export function refuseRecord(part: Part): void {
  if (recordOf(part) === null) return;
  throw badRequest(`"${part.fields.at(part.kind)}" is not supported: built-in tools are not offered`);
}

/** The content of a part from the user, or of a function's response. */
export function inputOf(part: Part): InputPart[] {
  const record = recordOf(part);
  if (record !== null) return record;
  if (part.kind === 'text') return textOf(part);
  const media = part.fields.get('inlineData') ?? part.fields.get('fileData');
  if (media !== undefined) return [media];
  throw badRequest(`"${part.fields.at(part.kind)}" must be in an item with the role model`);
}

// ------------------------------------------------------------------------------------------------------------ request

export const readContent = named(
  'Content',
  nativeFields({
    role: optional(
      described(oneOf(['user', 'model', 'function']), '`function` is the earlier role of function responses'),
    ),
    parts: optional(arrayOf(readPart)),
  }),
);

/** Texts only. */
const systemInstruction = reader(
  fields({ parts: arrayOf(fields({ text: readString })) }).schema,
  nativeFields({ parts: arrayOf(readPart) }),
);

const thinkingConfig = named(
  'ThinkingConfig',
  nativeFields({
    includeThoughts: optional(described(readBoolean, 'Whether the answer has the text of the thinking')),
    thinkingBudget: optional(described(integerBetween(-1, null), 'In tokens. 0 for no thinking, -1 for no limit')),
    thinkingLevel: optional(described(readString, '`MINIMAL`, `LOW`, `MEDIUM` or `HIGH`')),
  }),
);

const JSON_TYPE = 'application/json';
/** One of the values of the schema, as a text. */
const ENUM_TYPE = 'text/x.enum';
const responseMimeType = oneOf(['text/plain', JSON_TYPE, ENUM_TYPE]);

const configOf = (select: ReaderSelector) =>
  closedNativeFields({
    maxOutputTokens: optional(outputTokens(MAX_OUTPUT_TOKENS)),
    temperature: optional(TEMPERATURE),
    topP: optional(described(numberBetween(0, 1), '0 counts as not sent')),
    topK: optional(described(integerBetween(0, null), '0 counts as not sent')),
    stopSequences: optional(described(readStopSequences, 'The first 4 are used')),
    candidateCount: optional(integerBetween(1, MAX_CANDIDATES)),
    presencePenalty: optional(PENALTY),
    frequencyPenalty: optional(PENALTY),
    thinkingConfig: select(optional(thinkingConfig)),
    responseMimeType: select(optional(responseMimeType)),
    responseSchema: select(optional(JSON_SCHEMA)),
    // The same, under the names that accept all of JSON Schema.
    responseJsonSchema: select(optional(JSON_SCHEMA)),
    _responseJsonSchema: select(optional(JSON_SCHEMA)),
    seed: select(optional(integerBetween(null, null))),
    responseFormat: ignored,
    responseModalities: select(
      optional(described(arrayOf(readString), '`AUDIO` for an answer with audio, if the model has it')),
    ),
    responseLogprobs: ignoredAs('boolean'),
    logprobs: ignoredAs('number'),
    mediaResolution: ignoredAs('string'),
    audioTimestamp: ignoredAs('boolean'),
    speechConfig: select(optional(described(readObject, 'With the modality `AUDIO`: the voice'))),
    imageConfig: select(forwardedAs('object'), ignoredAs('object')),
    translationConfig: ignored,
    enableAffectiveDialog: ignoredAs('boolean'),
    enableEnhancedCivicAnswers: ignored,
    modelConfig: ignored,
    modelSelectionConfig: ignored,
    routingConfig: ignored,
  });

export const GENERATION_CONFIG = byCompatibility(configOf);
type GenerationConfig = ReturnType<(typeof GENERATION_CONFIG)['full']>;

function settingsOf(
  config: GenerationConfig,
): Pick<TextRequest, 'sampling' | 'outputFormat' | 'audioOutput' | 'unused'> & Thinking {
  const audioOutput = audioOutputOf(config);
  return {
    unused: unusedFields(
      config.unused(),
      config.get('thinkingConfig')?.unused(),
      audioOutput === undefined ? unusedModalities(config) : undefined,
    ),
    audioOutput,
    sampling: samplingOf(config),
    outputFormat: outputFormatOf(config),
    ...thinkingOf(config),
  };
}

function samplingOf(config: GenerationConfig): Sampling {
  return compact({
    maxOutputTokens: config.get('maxOutputTokens'),
    temperature: config.get('temperature'),
    // Zero means "not set" in both.
    topP: config.get('topP') || undefined,
    topK: config.get('topK') || undefined,
    stopSequences: config.get('stopSequences')?.slice(0, MAX_STOP_SEQUENCES_USED),
    frequencyPenalty: config.get('frequencyPenalty'),
    presencePenalty: config.get('presencePenalty'),
    choiceCount: config.get('candidateCount'),
    seed: config.get('seed'),
  });
}

/** https://ai.google.dev/gemini-api/docs/speech-generation */
function audioOutputOf(config: GenerationConfig): AudioOutput | undefined {
  const modalities = config.get('responseModalities')?.map((modality) => modality.toUpperCase());
  if (modalities?.includes('AUDIO') !== true) return undefined;
  const speechConfig = config.get('speechConfig');
  const voice = ['voiceConfig', 'prebuiltVoiceConfig', 'voiceName'].reduce<unknown>(
    (value, name) => (isObject(value) ? camelCased(value)[name] : undefined),
    speechConfig,
  );
  return {
    voice: typeof voice === 'string' && voice !== '' ? readId(voice, config.at('speechConfig')) : undefined,
    format: 'pcm16',
    hasText: modalities.includes('TEXT'),
    speechConfig,
  };
}

/** The settings of modalities that answers do not have. Models of images answer with images in any case. */
function unusedModalities(config: GenerationConfig): UnusedFields {
  const others = config.get('responseModalities')?.filter((modality) => modality.toUpperCase() !== 'TEXT') ?? [];
  const field = others.length === 0 ? [] : [config.at('responseModalities')];
  const always = config.get('speechConfig') === undefined ? [] : [config.at('speechConfig')];
  return isForImages(others) ? { always, converted: field } : { always: [...field, ...always], converted: [] };
}

/** Whether modalities ask for images. */
export function isForImages(modalities: readonly unknown[]): boolean {
  return modalities.some((modality) => typeof modality === 'string' && modality.toUpperCase() === 'IMAGE');
}

/** This format's schemas have no name, but other formats require one. */
const SCHEMA_NAME = 'answer';

/** A schema alone is none for upstreams either: it needs the type of the answer. */
function outputFormatOf(config: GenerationConfig): OutputFormat | undefined {
  const type = config.get('responseMimeType');
  if (type !== JSON_TYPE && type !== ENUM_TYPE) return undefined;
  const dialect = config.get('responseSchema');
  const schema =
    config.get('responseJsonSchema') ?? config.get('_responseJsonSchema') ?? (dialect && jsonSchemaOf(dialect));
  if (type === ENUM_TYPE) return enumOf(schema ?? {}, config.at('responseSchema'));
  return schema === undefined ? { type: 'json-object' } : { type: 'json-schema', name: SCHEMA_NAME, schema };
}

/** A schema with the value in a property, because most upstreams accept only schemas of objects. A text is never null. */
function enumOf(answer: JsonObject, path: string): OutputFormat {
  const values = listOf(answer['enum']).filter((value) => value !== null);
  const isEnum = values.length > 0 && values.every((value) => typeof value === 'string');
  if (!isEnum) throw badRequest(`"${path}" must have "enum", a list of texts, for the type ${ENUM_TYPE}`);
  const value = { ...answer, type: 'string', enum: values };
  const schema = { type: 'object', properties: { value }, required: ['value'], additionalProperties: false };
  return { type: 'json-schema', name: SCHEMA_NAME, schema, strict: true, textIn: 'value' };
}

type Thinking = Pick<TextRequest, 'reasoningEffort' | 'reasoningBudget' | 'reasoningDisplay'>;

const readLevel = oneOf(['minimal', 'low', 'medium', 'high']);

function thinkingOf(config: GenerationConfig): Thinking {
  const thinking = config.get('thinkingConfig');
  const budget = thinking?.get('thinkingBudget') ?? -1;
  const level = thinking?.get('thinkingLevel');
  return {
    reasoningEffort:
      level && level !== 'THINKING_LEVEL_UNSPECIFIED'
        ? readLevel(level.toLowerCase(), thinking?.at('thinkingLevel') ?? '')
        : undefined,
    reasoningBudget: budget === -1 ? undefined : budget,
    reasoningDisplay: thinking?.get('includeThoughts') === true ? 'text' : undefined,
  };
}

const functionDeclaration = mapped(
  nativeFields({
    name: readName,
    description: optional(readString),
    parameters: optional(JSON_SCHEMA),
    parametersJsonSchema: optional(JSON_SCHEMA),
  }),
  (declaration): Tool => {
    const name = declaration.get('name');
    const description = declaration.get('description');
    // SDKs send `parameters`, in JSON Schema or this format's dialect of it, or `parametersJsonSchema`.
    const schema = declaration.get('parametersJsonSchema');
    const parameters = declaration.get('parameters');
    return compact({ name, description, parameters: schema ?? (parameters && jsonSchemaOf(parameters)) });
  },
);

const SEARCHES = ['googleSearch', 'googleSearchRetrieval'];
/** The vendor's names for tools of its own: https://ai.google.dev/api/caching#Tool */
const OTHER_BUILT_IN_TOOLS = ['codeExecution', 'computerUse', 'fileSearch', 'googleMaps', 'mcpServers', 'urlContext'];
const NOT_RUN = refused(
  'Genway does not run this tool; declare a function in functionDeclarations, and run it yourself',
);

/** @param further fields beside the functions */
function toolsOf(further: Readonly<Record<string, typeof NOT_RUN>>) {
  const declarations = { functionDeclarations: optional(arrayOf(functionDeclaration)) };
  const description = 'Other fields, for built-in tools, have no effect';
  return optional(
    arrayOf(
      mapped(
        nativeFields({ ...further, ...declarations }, { description }),
        (tool) => tool.get('functionDeclarations') ?? [],
      ),
    ),
  );
}

/** Without the tool, the answer would be invented: the page that it should read, for example, is not in the prompt. */
const TOOLS_OF_FULL = toolsOf(Object.fromEntries(OTHER_BUILT_IN_TOOLS.map((name) => [name, NOT_RUN])));
const TOOLS_OF_SPECIFICATION = toolsOf({});

/** The tools of a client that the vendor would run, besides the search of {@link findWebSearch}. */
export function builtInTools(tools: unknown, webSearch: WebSearch | undefined): UnusedFields {
  const sent = listOf(tools).flatMap((tool) => (isObject(tool) ? Object.keys(camelCased(tool)) : []));
  const names = [...SEARCHES, ...OTHER_BUILT_IN_TOOLS]
    .filter((name) => sent.includes(name))
    .map((name) => `tools.${name}`);
  return { always: names.filter((name) => name !== webSearch?.field), converted: [] };
}

/** The search among the tools of a request. */
export function findWebSearch(tools: unknown): WebSearch | undefined {
  return searchTools(tools).length === 0 ? undefined : { field: 'tools.googleSearch' };
}

/** The tools for an upstream that may search: https://ai.google.dev/gemini-api/docs/google-search */
export function searchTools(tools: unknown): readonly JsonObject[] {
  return listOf(tools).flatMap((tool) => {
    const { googleSearch } = isObject(tool) ? camelCased(tool) : {};
    return isObject(googleSearch) ? [{ googleSearch }] : [];
  });
}

const functionCallingConfig = named(
  'FunctionCallingConfig',
  nativeFields({
    mode: optional(described(readString, '`AUTO`, `ANY`, `VALIDATED` or `NONE`')),
    allowedFunctionNames: optional(described(arrayOf(readName), 'The request omits all other functions')),
  }),
);

const MODES = { AUTO: 'auto', VALIDATED: 'auto', ANY: 'required', NONE: 'none' } as const;
const readMode = oneOf(['AUTO', 'VALIDATED', 'ANY', 'NONE', 'MODE_UNSPECIFIED']);

/** The choice of tools, and the names of those that may be called. */
export interface ToolConfig {
  readonly toolChoice?: ToolChoice | undefined;
  readonly allowed?: ReadonlySet<string> | undefined;
}

const toolConfig = mapped(
  nativeFields({ functionCallingConfig: optional(functionCallingConfig), retrievalConfig: ignored }),
  (config): ToolConfig => {
    const calling = config.get('functionCallingConfig');
    const mode = calling?.getAs('mode', optional(readMode)) ?? 'MODE_UNSPECIFIED';
    const names = calling?.get('allowedFunctionNames') ?? [];
    return {
      toolChoice: mode === 'MODE_UNSPECIFIED' ? undefined : { type: MODES[mode] },
      allowed: names.length === 0 ? undefined : new Set(names),
    };
  },
);

export const READ_REQUEST = byCompatibility((select) =>
  closedNativeFields(
    {
      contents: constrained(arrayOf(readContent), { minItems: 1 }),
      systemInstruction: optional(systemInstruction),
      generationConfig: optional(mapped(named('GenerationConfig', configOf(select)), settingsOf)),
      tools: select(TOOLS_OF_FULL, TOOLS_OF_SPECIFICATION),
      toolConfig: select(optional(toolConfig)),
      safetySettings: ignoredAs('array'),
      cachedContent: ignoredAs('string'),
      labels: ignoredAs('object'),
      serviceTier: ignoredAs('string'),
      store: ignoredAs('boolean'),
      model: refused('the model is named in the path'),
    },
    'Field names may also be in snake_case.',
  ),
);
