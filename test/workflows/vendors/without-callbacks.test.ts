import { useVendorStack } from '../../support/vendors.ts';
import { describeArk } from './ark.ts';
import { describeKling } from './kling.ts';
import { describeMiniMax } from './minimax.ts';
import { describeOpenAiImages } from './openai-images.ts';
import { describeOpenAiVideos } from './openai-videos.ts';

describe('at vendors that are asked', () => {
  const stack = useVendorStack();
  describeArk(stack);
  describeKling(stack);
  describeMiniMax(stack);
  describeOpenAiImages(stack);
  describeOpenAiVideos(stack);
});
