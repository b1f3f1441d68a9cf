import type { TestStack } from '../../support/stack.ts';
import { describeImagesAt } from './images-at-a-vendor.ts';
import { describeVendor } from './tasks-at-a-vendor.ts';

export const describeOpenAiImages = (stack: TestStack): void =>
  describeVendor('OpenAI’s images', stack, 'imagea-2.5-sunburst', (tools) => {
    describeImagesAt(
      {
        provider: 'openai-images',
        model: 'imagea-2.5-sunburst',
        order: { size: '1536x864', background: 'transparent' },
        sent: {
          model: 'gpt-image-2.5-sunburst',
          size: '1536x864',
          background: 'transparent',
          output_format: 'png',
          quality: 'medium',
          n: 1,
        },
        sentWithImage: { images: 1, n: '1', size: '1024x1024' },
      },
      tools,
    );
  });
