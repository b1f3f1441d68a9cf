import { useVendorStack } from '../../support/vendors.ts';
import { describeArk } from './ark.ts';
import { describeBfl } from './bfl.ts';
import { describeDashscope } from './dashscope.ts';
import { describeKling, describeKlingStandard } from './kling.ts';
import { describeMiniMax } from './minimax.ts';
import { describeOpenAiImages } from './openai-images.ts';
import { describeOpenAiVideos } from './openai-videos.ts';
import { describeVertex } from './vertex.ts';
import { describeXai } from './xai.ts';

describe('at vendors that Genway polls', () => {
  const stack = useVendorStack();
  describeArk(stack);
  describeBfl(stack);
  describeDashscope(stack);
  describeKling(stack);
  describeKlingStandard(stack);
  describeMiniMax(stack);
  describeOpenAiImages(stack);
  describeOpenAiVideos(stack);
  describeVertex(stack);
  describeXai(stack);
});
